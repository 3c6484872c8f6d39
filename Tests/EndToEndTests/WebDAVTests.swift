import Foundation
import TestSupport
import Testing

/// WebDAV against servers that nobody here wrote: Apache's mod_dav and `rclone serve webdav`.
@Suite(.turns, .timeLimit(.minutes(30)))
struct WebDAVTests {
  typealias Make = DAVServer.Make
  private static let environment = DAVServer.environment
  private static let names = [
    "plain.bin", "a b/ü%#?&.bin", "a b/deep/er/+;=@,$!.bin", "a b/%41'\"<>.bin", "e\u{301}/\u{e9}.bin",
    "empty",
  ]

  private func job(_ endpoint: String, _ transfers: String...) -> String {
    """
    version: 1
    job: dav
    policies: { p: { retry: { attempts: 3, initial: 10ms, max: 50ms } } }
    endpoints: { dav: \(endpoint) }
    defaults: { policy: p }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  /// What lies in the folder that is served, by name.
  private func files(_ server: DAVServer) throws -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: try Sums.tree(server.folder).map {
        ($0.key.hasPrefix("./") ? String($0.key.dropFirst(2)) : $0.key, $0.value)
      })
  }

  @Test(arguments: Make.allCases) func aTreeThereAndBack(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await DAVServer(make, bench)
    for (number, name) in Self.names.enumerated() {
      try bench.source("up/" + name, size: name == "empty" ? 0 : 1000 * number + 7, seed: UInt64(number + 1))
    }
    let up = job(server.endpoint(), "{ id: up, upload: up/**, to: \"dav:in/new/\" }")
    let run = try await bench.run(up, environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    let there = try files(server)
    #expect(there.count == Self.names.count, "\(there.keys)")
    for name in Self.names {
      #expect(try there["in/new/" + name] == Sums.file(bench.job + "/up/" + name), "\(name)")
    }
    for transfer in run.transfers { #expect(transfer["protocol"].string == "webdav") }
    // The tags of files that are a second old are strong ones.
    try await Task.sleep(for: .milliseconds(1100))
    let again = try await bench.run(nil, environment: Self.environment)
    #expect(again.status == 0 && again.transferred == 0, "\(again.errors)")
    #expect(again.totals["up_to_date"].int == Int64(Self.names.count))

    let down = job(server.endpoint("/in"), "{ id: down, download: \"dav:new/\", to: down/ }")
    let back = try await bench.run(down, environment: Self.environment)
    #expect(back.status == 0 && back.faults == "", "\(back.errors)")
    for name in Self.names {
      #expect(
        try Sums.file(bench.job + "/down/" + name) == Sums.file(bench.job + "/up/" + name), "\(name)")
    }
    let unchanged = try await bench.run(nil, environment: Self.environment)
    #expect(unchanged.status == 0 && unchanged.transferred == 0, "\(unchanged.errors)")
  }

  /// Another job: what stands there is not its own.
  private func stranger(_ endpoint: String, _ transfer: String) -> String {
    job(endpoint, transfer).replacingOccurrences(of: "job: ", with: "job: other-")
  }

  /// A changed source replaces its file; `keep` and `fail` do not; a folder is never replaced, nor what is in it.
  @Test(arguments: Make.allCases) func whatIsThere(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await DAVServer(make, bench)
    try bench.source("a.bin", size: 5000, seed: 1)
    let replace = "{ id: one, upload: a.bin, to: \"dav:in/a.bin\", verify: readback }"
    let first = try await bench.run(job(server.endpoint(), replace), environment: Self.environment)
    #expect(first.status == 0, "\(first.errors)")
    try bench.source("a.bin", size: 6000, seed: 2)
    let second = try await bench.run(nil, environment: Self.environment)
    #expect(second.status == 0 && second.state("one") == "completed", "\(second.errors)")
    let sum = try Sums.file(bench.job + "/a.bin")
    #expect(try files(server) == ["in/a.bin": sum])

    try bench.source("b.bin", size: 10, seed: 3)
    let kept = try await bench.run(
      stranger(server.endpoint(), "{ id: other, upload: b.bin, to: \"dav:in/a.bin\", if_exists: keep }"),
      environment: Self.environment)
    #expect(kept.state("other") == "skipped exists", "\(kept.errors)")
    let failed = try await bench.run(
      stranger(server.endpoint(), "{ id: other, upload: b.bin, to: \"dav:in/a.bin\", if_exists: fail }"),
      environment: Self.environment)
    #expect(failed.state("other") == "failed DESTINATION_EXISTS", "\(failed.errors)")
    #expect(try files(server) == ["in/a.bin": sum])
  }

  /// What arrived is kept, and only gets its name once the folder is out of the way.
  @Test(arguments: Make.allCases) func aFolderIsNotReplaced(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await DAVServer(make, bench)
    let inner = server.folder + "/in/sub"
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
    guard chmod(server.folder + "/in", 0o777) == 0 else { throw TestFault("chmod: errno \(errno)") }
    try SeededFile.make(inner + "/mine", size: 10)
    try bench.source("a.bin", size: 5000)
    let refused = try await bench.run(
      job(server.endpoint(), "{ id: one, upload: a.bin, to: \"dav:in/sub\" }"), environment: Self.environment)
    #expect(refused.state("one") == "failed DESTINATION_EXISTS", "\(refused.errors)")
    #expect(refused["one"]["error"]["message"].string?.contains("is a folder") == true)
    #expect(try files(server)["in/sub/mine"] != nil)
    try FileManager.default.removeItem(atPath: inner)
    let run = try await bench.run(nil, environment: Self.environment)
    #expect(run.state("one") == "completed" && run.transferred == 0, "\(run.errors)")
    #expect(try files(server) == ["in/sub": Sums.file(bench.job + "/a.bin")])
  }

  @Test(arguments: Make.allCases) func aWrongPasswordIsTold(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await DAVServer(make, bench)
    try bench.source("a.bin", size: 5000)
    let run = try await bench.run(
      job(
        server.endpoint(), "{ id: up, upload: a.bin, to: \"dav:a.bin\" }",
        "{ id: down, download: \"dav:b.bin\", to: b.bin }"),
      environment: ["DAV_PASSWORD": "dav-pass-of-yesterday"])
    #expect(run.state("up") == "failed UNAUTHORIZED" && run.state("down") == "failed UNAUTHORIZED")
    #expect(run.transferred == 0)
    #expect(try files(server).isEmpty)
    let listing = try await bench.haul(["plan", "job.yaml"], environment: Self.environment)
    #expect(listing.status == 0, "\(listing.errors)")
    try bench.writeJob(job(server.endpoint(), "{ id: all, download: \"dav:x/\", to: x/ }"))
    let refused = try await bench.haul(["plan", "job.yaml"], environment: ["DAV_PASSWORD": "wrong"])
    #expect(refused.status != 0 && refused.errors.contains("401"), "\(refused.errors)")
  }

  /// A prefix that nothing lies below, and a missing folder of the endpoint's own.
  @Test(arguments: Make.allCases) func whatIsMissing(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await DAVServer(make, bench)
    try bench.source("a.bin", size: 5000)
    let run = try await bench.run(
      job(server.endpoint("/nowhere"), "{ id: up, upload: a.bin, to: \"dav:x/a.bin\" }"),
      environment: Self.environment)
    #expect(run.state("up") == "failed NOT_FOUND", "\(run.errors)")
    #expect(run["up"]["error"]["message"].string?.contains("correct the endpoint's `url`") == true)
    try bench.writeJob(job(server.endpoint(), "{ id: all, download: \"dav:x/\", to: x/ }"))
    let plan = try await bench.haul(["plan", "job.yaml"], environment: Self.environment)
    #expect(plan.status != 0 && plan.errors.contains("nothing lies below `dav:x/`"), "\(plan.errors)")
    #expect(try files(server).isEmpty)
  }

  @Test(.enabled(if: Apache.isInstalled, "needs apache2"), arguments: ["replace", "fail"])
  func kills(_ ifExists: String) async throws {
    let size = (4 << 20) + 5
    try await RemoteKills.torture("webdav upload, \(ifExists)", cost: size, resumes: false) { seed in
      let bench = try Bench()
      let server = try await DAVServer(.apache, bench)
      let folder = server.folder + "/in"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      guard chmod(folder, 0o777) == 0 else { throw TestFault("chmod: errno \(errno)") }
      try bench.source("a.bin", size: size, seed: seed)
      try bench.writeJob(
        """
        version: 1
        job: killed
        endpoints: { dav: \(server.endpoint()) }
        defaults: { policy: { bandwidth: 8MiB/s } }
        transfers: [{ id: one, upload: a.bin, to: "dav:in/one.bin", if_exists: \(ifExists) }]
        """)
      let names = { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
      return RemoteKills.Round(
        bench: bench, environment: Self.environment, span: 700, isBegun: { !names().isEmpty },
        isOver: { names().contains { $0.hasPrefix(".haul-") || $0 == "one.bin" } },
        settle: { _ throws -> Int64 in
          #expect(try Sums.file(folder + "/one.bin") == Sums.file(bench.job + "/a.bin"))
          #expect(names() == ["one.bin"])
          let puts = server.log().filter { $0["method"].string == "PUT" }
          let sent = puts.reduce(0) { $0 + ($1["bytes_in"].int ?? 0) }
          return max(0, sent - Int64(size) - 4096 * Int64(puts.count))
        })
    }
  }

  /// An upload that leaves the manifest takes its temporary name along.
  @Test(arguments: Make.allCases) func nothingIsLeftOfAnAbandonedUpload(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await DAVServer(make, bench)
    try bench.source("a.bin", size: 4 << 20)
    try bench.writeJob(
      job(
        server.endpoint(),
        "{ id: one, upload: a.bin, to: \"dav:one.bin\", policy: { bandwidth: 2MiB/s } }"))
    let running = try bench.start(bench.runArguments(), environment: Self.environment)
    try await RemoteKills.wait {
      running.isAlive && (try? FileManager.default.contentsOfDirectory(atPath: server.folder).isEmpty) == true
    }
    running.signal(SIGKILL)
    try await running.wait()
    try bench.source("b.bin", size: 10)
    let run = try await bench.run(
      job(server.endpoint(), "{ id: two, upload: b.bin, to: \"dav:two.bin\" }"), environment: Self.environment
    )
    #expect(run.status == 0, "\(run.errors)")
    #expect(try files(server).keys.sorted() == ["two.bin"])
  }
}
