import Foundation
import TestSupport
import Testing

/// What a run looks at before it goes on: sources, all told together, and with `--resume-check full` every byte.
@Suite(.turns)
struct ResumeCheckTests {
  private static let size = 4 << 20

  private func bench(_ faults: [String]) async throws -> (Bench, Depot) {
    let bench = try Bench()
    return (bench, try await Depot(bench, faults: faults))
  }

  private static let slow = [
    #"{"match": {"method": "GET", "path": "/files/*"}, "action": {"rate": "1MiB"}}"#,
    #"{"match": {"method": "PUT"}, "action": {"uploadRate": "512KiB"}}"#,
  ]

  /// Writes eight bytes and puts the file's time back: size, time and the fingerprint's samples say nothing.
  private func alterUnseen(_ path: String, at offset: Int) throws {
    _ = try Sums.shell(
      "touch -r '\(path)' '\(path).time' && printf CHANGED. | dd of='\(path)' bs=1 seek=\(offset) conv=notrunc"
        + " 2>/dev/null && touch -r '\(path).time' '\(path)'", in: "/")
  }

  /// Missing and changed sources are named together before a byte moves; the others run, `strict` stops all.
  @Test func sourcesAreCheckedTogether() async throws {
    let (bench, depot) = try await bench(Self.slow)
    for name in ["a", "b", "c"] { try bench.source("\(name).bin", size: Self.size, seed: 51) }
    try bench.writeJob(
      """
      version: 1
      job: sources
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { transfers: 4 } }
      defaults: { chunk_size: 256KiB, policy: p }
      transfers:
        - { id: a, upload: a.bin, to: "depot:in/a.bin" }
        - { id: b, upload: b.bin, to: "depot:in/b.bin" }
        - { id: c, upload: c.bin, to: "depot:in/c.bin" }

      """)
    #expect(try await Midway.stop(bench, after: 3, of: ["a", "b", "c"]).status == 75)
    _ = try await depot.log()
    try await Task.sleep(for: .milliseconds(1500))
    let before = try await depot.log().count
    try bench.source("a.bin", size: Self.size, seed: 52)
    // Put back with the same bytes, it is neither named nor sent anew.
    try bench.source("c.bin", size: Self.size, seed: 51)
    try FileManager.default.removeItem(atPath: bench.job + "/b.bin")
    let strict = try await bench.run(nil, ["--precheck", "strict"])
    #expect(strict.status == 66)
    for words in ["1 local source is missing: b", "1 local source has changed since the upload began: a"] {
      #expect(strict.errors.contains(words), "\(strict.errors)")
      #expect(strict.remarks.contains(words))
    }
    #expect(try await depot.log().count == before)
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(nil, ["--events", events])
    #expect(run.status == 1)
    #expect(run.faults == "")
    #expect(
      run.state("a") == "completed" && run.state("b") == "failed SOURCE_MISSING"
        && run.state("c") == "completed")
    for words in ["1 local source is missing: b", "1 local source has changed since the upload began: a"] {
      #expect(run.errors.contains(words) && run.remarks.contains(words), "\(run.remarks)")
    }
    #expect((run["c"]["chunks"]["reused"].int ?? 0) >= 3 && run["a"]["chunks"]["reused"].int == 0)
    #expect(try Sums.file(bench.served + "/in/a.bin") == Sums.file(bench.job + "/a.bin"))
  }

  /// A source whose facts are as before, but for the time of its last change of any kind, and whose bytes are not: what was
  /// sent is compared before anything more is.
  @Test(arguments: ["quick", "full"]) func resumedUploadOfAlteredSource(_ check: String) async throws {
    let (bench, depot) = try await bench(Self.slow)
    try bench.source("up.bin", size: Self.size, seed: 53)
    try bench.writeJob(
      """
      version: 1
      job: altered
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 256KiB }
      transfers: [{ id: up, upload: up.bin, to: "depot:in/up.bin" }]

      """)
    #expect(try await Midway.stop(bench, after: 6, of: ["up"]).status == 75)
    try alterUnseen(bench.job + "/up.bin", at: 100_000)
    let run = try await bench.run(nil, ["--resume-check", check])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
    let finalizes = try await depot.log().count(where: \.isFinalize)
    #expect(run.remarks.contains("is not what was sent of it"), "\(run.remarks)")
    #expect(finalizes == 1)
    #expect(run["up"]["chunks"]["reused"].int == 0)
  }

  /// The hour of the day, UTC, so many hours from now.
  private func hour(_ ahead: Int) -> String {
    let hour = (Int(Date().timeIntervalSince1970) / 3600 + ahead) % 24
    return (hour < 10 ? "0" : "") + String(hour)
  }

  /// Completions are read again, in a new run and in one that goes on; only what is damaged moves again.
  @Test(arguments: [true, false]) func completedFilesAreRead(goesOn: Bool) async throws {
    let (bench, depot) = try await bench([])
    for (index, name) in ["a", "b", "never"].enumerated() {
      try bench.serve("\(name).bin", size: 700_000, seed: UInt64(60 + index))
    }
    try bench.source("up.bin", size: 700_000, seed: 70)
    let yaml = """
      version: 1
      job: full
      endpoints: { depot: \(depot.endpoint) }
      policies: { shut: { timezone: UTC, window: [{ from: "\(hour(2)):00", to: "\(hour(3)):00" }] } }
      defaults: { chunk_size: 256KiB }
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }
        - { id: b, download: "depot:b.bin", to: b.bin }
        - { id: never, download: "depot:never.bin", to: never.bin, refresh: never }
        - { id: up, upload: up.bin, to: "depot:in/up.bin" }

      """
      + (goesOn ? "  - { id: far, download: \"http://127.0.0.1:1/x\", to: far.bin, policy: shut }\n" : "")
    let first = try await bench.run(yaml, ["--no-wait"])
    #expect(first.status == (goesOn ? 75 : 0), "\(first.errors)")
    for name in ["a", "never"] { try alterUnseen(bench.job + "/\(name).bin", at: 300_000) }
    let moved = try await depot.log().moved
    // Times and sizes are as recorded: without reading, nobody sees it.
    let quick = try await bench.run(nil, ["--no-wait"])
    #expect(try await depot.log().moved == moved)
    #expect(quick.state("a") == (goesOn ? "completed" : "up_to_date"))
    let full = try await bench.run(nil, ["--resume-check", "full", "--no-wait"])
    #expect(full.status == (goesOn ? 75 : 0), "\(full.errors)")
    #expect(full.faults == "")
    for name in ["a", "b", "never"] { #expect(try bench.isSame("\(name).bin", "\(name).bin"), "\(name)") }
    #expect(try await depot.log().moved == moved + 1_400_000)
    for id in ["b", "up"] { #expect(full.state(id) == (goesOn ? "completed" : "up_to_date"), "\(id)") }
  }

  /// Sources of completed uploads are read again too: bytes that changed without a trace are sent.
  @Test func completedSourcesAreRead() async throws {
    let (bench, depot) = try await bench([])
    for name in ["a", "b"] { try bench.source("\(name).bin", size: 700_000, seed: 71) }
    let yaml = """
      version: 1
      job: full
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: a, upload: a.bin, to: "depot:in/a.bin" }
        - { id: b, upload: b.bin, to: "depot:in/b.bin" }

      """
    #expect(try await bench.run(yaml).status == 0)
    try alterUnseen(bench.job + "/a.bin", at: 300_000)
    #expect(try await bench.run().state("a") == "up_to_date")
    let full = try await bench.run(nil, ["--resume-check", "full"])
    #expect(full.status == 0, "\(full.errors)")
    #expect(full.state("a") == "completed" && full.state("b") == "up_to_date")
    #expect(try Sums.file(bench.served + "/in/a.bin") == Sums.file(bench.job + "/a.bin"))
    _ = depot
  }
}
