import Foundation
import TestSupport
import Testing

/// Whose bytes are published: part files that nobody else can name, share or replace.
@Suite(.turns)
struct PartFileTests {
  private func bench(rate: String = "1MiB") async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(
      bench, faults: [#"{"match": {"path": "/files/a.bin"}, "action": {"rate": "\#(rate)"}}"#])
    try bench.serve("a.bin", size: 6_000_000, seed: 1)
    return (bench, depot)
  }

  private func yaml(_ depot: Depot, _ more: String = "") -> String {
    """
    version: 1
    job: parts
    endpoints: { depot: \(depot.endpoint) }
    defaults: { chunk_size: 256KiB }
    transfers:
      - { id: one, download: "depot:a.bin", to: out/a.bin }
    \(more)
    """
  }

  private func start(_ bench: Bench, _ state: String) throws -> Running {
    try Running(
      Programs.haul, ["run", "job.yaml", "--no-progress", "--state-dir", bench.scratch.path + "/" + state],
      environment: bench.environment(), folder: bench.job, scratch: bench.scratch.path)
  }

  private func sql(_ bench: Bench, _ statements: String) throws {
    _ = try Sums.shell(
      "\(Programs.python) -c \"import sqlite3; c = sqlite3.connect('\(bench.state)/parts/plan.sqlite'); c.executescript(\\\"\(statements)\\\"); c.commit()\"",
      in: bench.job)
  }

  /// Its tag is another one in each state, and the file is locked as long as somebody works on it.
  @Test func nobodyKnowsTheName() async throws {
    let (bench, depot) = try await bench()
    try bench.writeJob(yaml(depot))
    var names: Set<String> = []
    for state in ["p", "q"] {
      let running = try start(bench, state)
      while bench.parts().isEmpty, running.isAlive { try await Task.sleep(for: .milliseconds(10)) }
      let part = try #require(bench.parts().first)
      #expect(part.wholeMatch(of: /out\/\.a\.bin\.[0-9a-f]{16}\.haul-part/) != nil, "\(part)")
      let descriptor = open(bench.job + "/" + part, O_RDONLY)
      // It is made, and then locked.
      for _ in 0..<100 where flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        flock(descriptor, LOCK_UN)
        try await Task.sleep(for: .milliseconds(10))
      }
      #expect(flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      close(descriptor)
      names.insert(part)
      running.signal(SIGKILL)
      try await running.wait()
      _ = try Sums.shell("rm -f out/.a.bin.*", in: bench.job)
    }
    #expect(names.count == 2, "\(names)")
  }

  /// A row or a manifest that names such a file is refused where it says so.
  @Test func noDestinationHasSuchAName() async throws {
    let (bench, depot) = try await bench()
    let name = "out/.a.bin.0123456789abcdef.haul-part"
    let manifest = try await bench.run(
      yaml(depot, "  - { id: two, download: \"depot:a.bin\", to: \(name) }\n"))
    #expect(manifest.status == 65 && manifest.errors.contains("a name of haul's own"), "\(manifest.errors)")
    try Data("\(name)\n".utf8).write(to: URL(fileURLWithPath: bench.job + "/rows.txt"))
    let row = try await bench.run(
      yaml(
        depot,
        "  - { id: r, for_each: { list: rows.txt }, download: \"depot:a.bin\", to: \"${each.line}\" }\n"))
    #expect(row.status == 65 && row.errors.contains("rows.txt:1"), "\(row.errors)")
    #expect(bench.parts().isEmpty && !bench.exists("out/a.bin"))
  }

  /// Somebody else's file under the part file's name is never published.
  @Test func aPartFileThatWasReplacedIsNotPublished() async throws {
    let (bench, depot) = try await bench()
    try bench.writeJob(yaml(depot))
    let run = try await Midway.meet(bench, after: 2, of: ["one"]) {
      let part = bench.job + "/" + (try #require(bench.parts().first))
      try FileManager.default.moveItem(atPath: part, toPath: bench.job + "/away")
      try Data("not what was wanted".utf8).write(to: URL(fileURLWithPath: part))
    }
    #expect(run.status == 1, "\(run.errors)")
    #expect(run.state("one") == "failed IO_ERROR" && !bench.exists("out/a.bin"))
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect(try bench.isSame("out/a.bin", "a.bin") && bench.parts().isEmpty)
  }

  /// The version before gave part files tags that it derived, and kept no record: they are gone on with.
  @Test func whatTheVersionBeforeLeftGoesOn() async throws {
    let (bench, depot) = try await bench()
    try bench.writeJob(yaml(depot))
    #expect(try await Midway.stop(bench, after: 4, of: ["one"]).state("one") == "paused interrupted")
    let part = try #require(bench.parts().first)
    // FNV-1a of job and id.
    let tag = "parts\0one".utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    let old =
      "out/.a.bin." + String(repeating: "0", count: 8 - String(tag, radix: 16).count) + String(tag, radix: 16)
      + ".haul-part"
    _ = try Sums.shell("mv '\(part)' '\(old)'", in: bench.job)
    try sql(bench, "DELETE FROM part_file")
    let run = try await bench.run()
    #expect(run.status == 0, "\(run.errors)")
    #expect((run["one"]["chunks"]["reused"].int ?? 0) >= 4, "\(run.remarks)")
    #expect(try bench.isSame("out/a.bin", "a.bin") && bench.parts().isEmpty)
  }

  /// What is left of a transfer that was canceled or left the manifest is found by its record, and nobody else's is.
  @Test func onlyItsOwnIsRemoved() async throws {
    let (bench, depot) = try await bench()
    try bench.writeJob(yaml(depot))
    #expect(try await Midway.stop(bench, after: 2, of: ["one"]).state("one") == "paused interrupted")
    let other = bench.job + "/out/.a.bin.0123456789abcdef.haul-part"
    try Data("other".utf8).write(to: URL(fileURLWithPath: other))
    let canceled = try await bench.haul(["cancel", "parts"])
    #expect(canceled.status == 0, "\(canceled.errors)")
    #expect(bench.parts() == ["out/.a.bin.0123456789abcdef.haul-part"])
    let swept = try await bench.haul(["gc"])
    #expect(swept.status == 0 && FileManager.default.fileExists(atPath: other), "\(swept.output)")
  }

  /// Two runners that know nothing of each other, and an object that changes between them: whatever is published is one
  /// version of it, whole.
  @Test func twoStatesOneDestination() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: [#"{"match": {}, "action": {"rate": "6MiB"}}"#])
    for attempt in 0..<8 {
      let sums = try (0..<2).map { version in
        try Sums.file(try bench.serve("v\(version)", size: 1_500_000, seed: UInt64(attempt * 2 + version)))
      }
      func publish(_ version: Int) throws {
        _ = try Sums.shell("cp v\(version) new && mv new a.bin", in: bench.served)
      }
      try publish(0)
      let shared = """
        version: 1
        job: shared\(attempt)
        endpoints: { depot: \(depot.endpoint) }
        policies: { p: { chunks_in_flight: 2 } }
        defaults: { chunk_size: 128KiB, policy: p }
        transfers: [ { id: one, download: "depot:a.bin", to: out\(attempt)/a.bin } ]

        """
      try bench.writeJob(shared)
      let first = try start(bench, "p")
      try await Task.sleep(for: .milliseconds(40 + attempt * 25))
      let second = try start(bench, "q")
      try await Task.sleep(for: .milliseconds(attempt * 15))
      try publish(1)
      let ends = try await [first.wait(), second.wait()]
      #expect(ends.map(\.status) == [0, 0], "\(ends.map(\.errors))")
      let published = try Sums.file(bench.job + "/out\(attempt)/a.bin")
      #expect(published != nil && sums.contains(published), "torn in try \(attempt)")
    }
    #expect(bench.parts().isEmpty)
  }
}
