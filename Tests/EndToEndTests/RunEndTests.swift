import Foundation
import TestSupport
import Testing

/// cli.md, How a transfer and a run end: which run is over, which is continued, and what its exit code says.
@Suite(.turns)
struct RunEndTests {
  private static let quick = """
    policies: { quick: { retry: { attempts: 2, initial: 10ms, max: 20ms } } }
    defaults: { policy: quick }
    """

  /// A dead host keeps nobody else from being looked at, and what failed is asked for again.
  @Test func oneDeadHostFreezesNothing() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for (seed, name) in ["a", "b", "still"].enumerated() {
      try bench.serve(name + ".bin", size: 1000, seed: UInt64(seed + 1))
    }
    let yaml = """
      version: 1
      job: nightly
      endpoints: { depot: \(depot.endpoint) }
      \(Self.quick)
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }
        - { id: b, download: "depot:b.bin", to: b.bin }
        - { id: still, download: "depot:still.bin", to: still.bin }
        - { id: late, download: "depot:late.bin", to: late.bin }
        - { id: after, download: "depot:a.bin", to: after.bin, needs: [late] }
        - { id: dead, download: "http://127.0.0.1:1/x", to: x.bin }
      """
    let first = try await bench.run(yaml)
    #expect(first.status == 2 && first.outcome == "failed" && first.faults == "", "\(first.errors)")
    #expect(
      first.state("late") == "failed NOT_FOUND" && first.state("after") == "skipped needs:late NEEDS_FAILED")
    #expect(first.state("dead") == "paused retries NETWORK_UNREACHABLE")
    #expect(first["a"]["moved_because"].string == "new")
    try bench.serve("a.bin", size: 1001, seed: 9)
    try bench.serve("late.bin", size: 500, seed: 5)
    try FileManager.default.removeItem(atPath: bench.job + "/b.bin")
    let second = try await bench.run()
    #expect(second.status == 75 && second.outcome == "incomplete" && second.faults == "", "\(second.errors)")
    #expect(second.report["run"]["number"].int == 2 && second.report["run"]["attempt"].int == 1)
    #expect(second.report["run"]["id"] != first.report["run"]["id"])
    for id in ["a", "b", "late", "after"] {
      #expect(second.state(id) == "completed", "\(id): \(second.errors)")
    }
    #expect(second.state("still") == "up_to_date" && second["still"]["moved_because"].isNull)
    #expect(try bench.isSame("a.bin", "a.bin"))
    let reasons = ["a": "source_changed", "b": "destination_changed", "late": "retried", "after": "retried"]
    for (id, reason) in reasons { #expect(second[id]["moved_because"].string == reason, "\(id)") }
    let third = try await bench.run()
    #expect(
      third.status == 75 && third.report["run"]["number"].int == 3 && third.totals["up_to_date"].int == 5)
  }

  /// A stopped run goes on as itself: what it did not reach comes first, then what failed; what it completed is left alone.
  @Test func aStoppedRunIsContinued() async throws {
    let bench = try Bench()
    let depot = try await Depot(
      bench,
      faults: [#"{"match": {"method": "GET", "path": "/files/large.bin"}, "action": {"rate": "60KiB"}}"#])
    for name in ["done", "last"] { try bench.serve(name + ".bin", size: 1000, seed: UInt64(name.utf8.count)) }
    try bench.serve("large.bin", size: 700_000)
    let yaml = """
      version: 1
      job: stopped
      endpoints: { depot: \(depot.endpoint) }
      policies: { one: { transfers: 1, retry: { attempts: 1 } } }
      defaults: { policy: one, chunk_size: 64KiB }
      transfers:
        - { id: bad, download: "depot:bad.bin", to: bad.bin }
        - { id: needy, download: "depot:done.bin", to: needy.bin, needs: [bad] }
        - { id: dead, download: "http://127.0.0.1:1/x", to: x.bin }
        - { id: done, download: "depot:done.bin", to: done.bin }
        - { id: large, download: "depot:large.bin", to: large.bin }
        - { id: last, download: "depot:last.bin", to: last.bin }
      """
    let cut = try await bench.run(yaml, ["--deadline", "2s"])
    #expect(cut.status == 2 && cut.outcome == "failed" && cut.faults == "", "\(cut.errors)")
    #expect(cut.state("bad") == "failed NOT_FOUND" && cut.state("done") == "completed")
    #expect(cut.state("large") == "paused deadline" && cut.state("last") == "queued")
    try bench.serve("bad.bin", size: 10)
    try bench.serve("done.bin", size: 1002, seed: 7)
    let visits = try await depot.log().count
    let events = bench.scratch.path + "/events.jsonl"
    let rest = try await bench.run(nil, ["--events", events])
    #expect(rest.status == 75 && rest.faults == "", "\(rest.errors)")
    #expect(rest.report["run"]["number"].int == 1 && rest.report["run"]["attempt"].int == 2)
    for id in ["bad", "needy", "large", "last"] {
      #expect(rest.state(id) == "completed", "\(id): \(rest.errors)")
    }
    #expect(rest.state("done") == "completed" && rest.state("dead") == "paused retries NETWORK_UNREACHABLE")
    let order = JSON.lines(events).filter { $0["to"].string == "running" }.compactMap { $0["id"].string }
    #expect(order.prefix(3) == ["large", "last", "bad"] && order.count == 5, "\(order)")
    #expect(
      !(try await depot.log().dropFirst(visits).contains {
        $0.path == "/files/done.bin" && $0.method == "HEAD"
      }))
    // Each has had its turn: the next one is a new run.
    let next = try await bench.run()
    #expect(next.report["run"]["number"].int == 2 && next.state("done") == "completed")
    #expect(next["done"]["moved_because"].string == "source_changed")
  }

  /// An expectation that came later is compared with what is on record, and is evidence as any other; of a file that nobody
  /// compares (`refresh: never`) and that is another one by now it says nothing.
  @Test func aLaterExpectationIsEvidence() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 4000)
    let digest = try #require(try Sums.file(bench.served + "/a.bin"))
    func job(_ more: String, named name: String = "later") -> String {
      """
      version: 1
      job: \(name)
      endpoints: { depot: \(depot.endpoint) }
      transfers: [ { id: a, download: "depot:a.bin", to: \(name).bin\(more) } ]
      """
    }
    #expect(try await bench.run(job("", named: "edited")).status == 0)
    try Data("another".utf8).write(to: URL(fileURLWithPath: bench.job + "/edited.bin"))
    let edited = try await bench.run(job(", refresh: never, expect: { sha256: \(digest) }", named: "edited"))
    let checked = edited["a"]["verification"].array.map { $0["against"].string }
    #expect(!checked.contains("manifest"), "\(edited["a"])")
    #expect(try await bench.run(job("")).status == 0)
    for _ in 0..<2 {
      let night = try await bench.run(job(", expect: { sha256: \(digest) }"))
      #expect(night.status == 0 && night.state("a") == "up_to_date", "\(night.errors)")
      #expect(night.totals["requests"].int == 0)
      let checks = night["a"]["verification"].array.filter { $0["against"].string == "manifest" }
      #expect(checks.map { $0["result"].string } == ["match"], "\(night["a"])")
    }
  }

  /// What waits for its window in a run that goes on keeps nobody from being tried again.
  @Test func failuresDoNotWaitForAWindow() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 1000)
    func clock(_ minutes: Double) -> String {
      let minute = Int(Date().timeIntervalSince1970 / 60 + minutes) % 1440
      return String(format: "\"%02d:%02d\"", minute / 60, minute % 60)
    }
    try bench.writeJob(
      """
      version: 1
      job: night
      endpoints: { depot: \(depot.endpoint) }
      policies: { shut: { timezone: UTC, window: [{ from: \(clock(60)), to: \(clock(120)) }] } }
      transfers:
        - { id: late, download: "depot:a.bin", to: late.bin, policy: shut }
        - { id: bad, download: "depot:bad.bin", to: bad.bin }
      """)
    func stopped(after state: String) async throws -> Int32 {
      let events = bench.scratch.path + "/\(state).jsonl"
      let run = try bench.start(bench.runArguments(["--events", events]))
      while !JSON.lines(events).contains(where: { $0["id"].string == "bad" && $0["to"].string == state }) {
        try #require(run.isAlive, "\(run.errors)")
        try await Task.sleep(for: .milliseconds(20))
      }
      run.signal(SIGINT)
      return try await run.wait().status
    }
    #expect(try await stopped(after: "failed") == 2)
    try bench.serve("bad.bin", size: 500)
    #expect(try await stopped(after: "completed") == 75)
    #expect(try bench.isSame("bad.bin", "bad.bin") && !bench.exists("late.bin"))
    let report = try JSON.parse(try await bench.haul(["report", "night", "--format", "json"]).output)
    #expect(report["run"]["number"].int == 1 && report["run"]["attempt"].int == 2)
  }

  /// What the manifest demands is there: the same verdict each night, and nobody is asked.
  @Test func anExpectedDigestSettlesIt() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 4000)
    let digest = try #require(try Sums.file(bench.served + "/a.bin"))
    func job(_ destination: String) -> String {
      """
      version: 1
      job: pinned
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: a, download: "depot:a.bin", to: \(destination), expect: { sha256: \(digest), size: 4000 } }
      """
    }
    #expect(try await bench.run(job("a.bin")).status == 0)
    try bench.serve("a.bin", size: 4008, seed: 3)
    for _ in 0..<2 {
      let night = try await bench.run()
      #expect(night.status == 0 && night.state("a") == "up_to_date", "\(night.errors)")
      #expect(night.totals["requests"].int == 0)
    }
    // Where it is not there, it fails each night alike.
    for _ in 0..<2 {
      let night = try await bench.run(job("fresh.bin"))
      #expect(night.status == 1 && night.state("a") == "failed LENGTH_MISMATCH", "\(night.errors)")
      #expect(!bench.exists("fresh.bin"))
    }
  }
}
