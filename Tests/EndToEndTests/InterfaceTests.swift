import Foundation
import TestSupport
import Testing

/// Which network: by the counters of real links in namespaces of their own.
@Suite(.turns)
struct InterfaceTests {
  private func yaml(_ port: Int, _ network: String, bandwidth: String = "unlimited") -> String {
    """
    version: 1
    job: links
    transfers:
      - id: a
        download: http://\(TwoLinks.address):\(port)/plain/f
        to: a
        policy: { bandwidth: \(bandwidth), network: \(network), timeouts: { stall: 3s, connect: 2s } }
    """
  }

  @Test(.enabled(if: TwoLinks.isPossible, "needs root and ip")) func onlyTheNamedLink() async throws {
    let (bench, links, server) = try await TwoLinks.serving("f", size: 4 << 20)
    for (wanted, other) in [("left", "right"), ("right", "left")] {
      let before = (try links.received(wanted), try links.received(other))
      let run = try await bench.run(
        through: links.inClient, yaml(server.port, "{ proxy: none, interface: \(wanted) }"), ["--new-run"])
      #expect(run.status == 0, "\(run.errors)")
      #expect(try bench.isSame("a", "f"))
      #expect(try links.received(wanted) - before.0 > 4 << 20)
      // What links say to each other without us: a few packets.
      #expect(try links.received(other) - before.1 < 2000)
      try FileManager.default.removeItem(atPath: bench.job + "/a")
    }
  }

  @Test(.enabled(if: TwoLinks.isPossible, "needs root and ip")) func downPausesAndUpResumes() async throws {
    let (bench, links, server) = try await TwoLinks.serving("f", size: 6 << 20)
    try bench.writeJob(yaml(server.port, "{ proxy: none, interface: right }", bandwidth: "1MB/s"))
    let events = bench.scratch.path + "/events"
    let running = try bench.start(
      through: links.inClient, bench.runArguments(["--events", events]))
    func wait(_ what: String, _ isThere: () throws -> Bool) async throws {
      for _ in 0..<1500 where running.isAlive {
        if try isThere() { return }
        try await Task.sleep(for: .milliseconds(20))
      }
      throw TestFault("\(what) did not come: \(running.errors)")
    }
    try await wait("the first megabyte") { try links.received("right") > 1 << 20 }
    try links.down("right")
    let left = try links.received("left")
    try await wait("the pause") {
      JSON.lines(events).contains { $0["to"].string == "paused" && $0["reason"].string == "interface" }
    }
    let atPause = JSON.lines(events).count
    // The other link would lead there, and is not taken.
    try await Task.sleep(for: .seconds(2))
    #expect(try links.received("left") - left < 2000 && running.isAlive)
    try await links.up("right")
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a", "f"))
    #expect(JSON.lines(events)[atPause...].contains { $0["to"].string == "completed" })
    #expect(run.report["run"]["attempt"].int == 1 && (run["a"]["bytes"]["transferred"].int ?? 0) < 9 << 20)
    #expect(run.remarks.contains("the interface `right` is down or missing"), "\(run.remarks)")
  }

  @Test func missingWithoutWaiting() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let server = try await PolicyServer(bench)
    let run = try await bench.run(
      """
      version: 1
      job: links
      transfers:
        - { id: a, download: \(quoted(server.url + "/plain/f")), to: a, policy: { network: { interface: nolink0 } } }
        - { id: b, download: \(quoted(server.url + "/plain/f")), to: b, policy: { network: { interface: lo } } }
        - { id: c, download: \(quoted(server.url + "/plain/f")), to: c }
      """, ["--no-wait"])
    #expect(run.status == 75, "\(run.errors)")
    #expect(run.state("a") == "paused interface")
    #expect(run.state("b") == "completed" && run.state("c") == "completed")
    #expect(run.faults == "")
  }

  /// A prefix is not listed over a line that its files would not be read from.
  @Test(arguments: [("interface: nolink0", "is down or missing"), ("metered: pause", "is metered")])
  func aListingAsksForItsNetwork(_ network: String, _ why: String) async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [])
    let tools = try bench.scratch.folder("tools")
    let tool = try bench.scratch.write("tools/busctl", "#!/bin/sh\necho u 1\n")
    chmod(tool, 0o755)
    let run = try await bench.run(
      """
      version: 1
      job: listed
      endpoints: { store: { type: s3, url: \(quoted(server.url)), bucket: bkt, auth: none } }
      defaults: { policy: { network: { \(network) } } }
      transfers:
        - { id: all, download: "store:p/", to: out/ }
      """, ["--no-wait"], environment: ["PATH": tools + ":/usr/bin:/bin"])
    #expect(run.status == 75 && run.errors.contains(why), "\(run.errors)")
    #expect(run.errors.contains("is not listed now") && server.log().isEmpty, "\(run.errors)")
  }

  /// NetworkManager's word, from a busctl that says what a file holds.
  @Test func metered() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let server = try await PolicyServer(bench)
    let tools = try bench.scratch.folder("tools")
    let word = try bench.scratch.write("word", "u 1\n")
    let tool = try bench.scratch.write("tools/busctl", "#!/bin/sh\ncat \(word)\n")
    chmod(tool, 0o755)
    let path = ["PATH": tools + ":/usr/bin:/bin"]
    let yaml = """
      version: 1
      job: metered
      transfers:
        - { id: a, download: \(quoted(server.url + "/plain/f")), to: a, policy: { network: { metered: pause } } }
      """
    let held = try await bench.run(yaml, ["--no-wait"], environment: path)
    #expect(held.status == 75 && held.state("a") == "paused metered", "\(held.errors)")
    #expect(server.log().isEmpty)
    try bench.writeJob(yaml)
    let events = bench.scratch.path + "/events"
    let running = try bench.start(bench.runArguments(["--events", events]), environment: path)
    for _ in 0..<1500 where running.isAlive {
      let told = JSON.lines(events).compactMap { $0["message"].string }
      if told.contains(where: { $0.contains("is metered") }) { break }
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(running.isAlive && server.log().isEmpty)
    try Data("u 4\n".utf8).write(to: URL(fileURLWithPath: word))
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 0 && run.state("a") == "completed", "\(run.errors)")
    // Nobody there to say: not metered, and said so.
    try FileManager.default.removeItem(atPath: tool)
    try bench.scratch.write("tools/busctl", "#!/bin/sh\nexit 1\n")
    chmod(tool, 0o755)
    let unknown = try await bench.run(
      yaml.replacing("to: a,", with: "to: a, refresh: always,"), ["--new-run"], environment: path)
    #expect(unknown.status == 0 && unknown.remarks.contains("can't be told"), "\(unknown.remarks)")
    // One that never answers, as on a bus that is stuck, is not waited for.
    try FileManager.default.removeItem(atPath: tool)
    try bench.scratch.write("tools/busctl", "#!/bin/sh\nsleep infinity\n")
    chmod(tool, 0o755)
    let stuck = try await bench.run(
      yaml.replacing("to: a,", with: "to: a, refresh: always,"), ["--new-run"], environment: path)
    #expect(stuck.status == 0 && stuck.remarks.contains("can't be told"), "\(stuck.remarks)")
  }
}
