import Foundation
import TestSupport
import Testing

/// Uploads to a depot that errs as it is told: each ends as the contract says.
@Suite(.turns)
struct UploadFaultsTests {
  private static let size = (4 << 20) + 7
  private static let chunk = 512 << 10

  private func run(
    _ faults: [String], attempts: Int = 4, more: String = "", depotOptions: [String] = []
  ) async throws -> (Bench, Depot, HaulRun) {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: faults, options: depotOptions)
    try bench.source("up.bin", size: Self.size, seed: 21)
    try bench.source("beside.bin", size: 1000, seed: 22)
    let run = try await bench.run(
      """
      version: 1
      job: faults
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { transfers: 1, retry: { attempts: \(attempts), initial: 20ms, max: 100ms } } }
      defaults: { policy: p, chunk_size: 512KiB }
      transfers:
        - { id: one, upload: up.bin, to: "depot:in/up.bin"\(more) }
        - { id: beside, upload: beside.bin, to: "depot:in/beside.bin" }
      """)
    #expect(run.faults == "")
    return (bench, depot, run)
  }

  private func expectWhole(_ bench: Bench, _ run: HaulRun) throws {
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.state("one") == "completed")
    #expect(run.state("beside") == "completed")
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
  }

  private static func chunkRule(_ action: String, index: String = "3", times: Int = 1) -> String {
    "{\"match\": {\"method\": \"PUT\", \"path\": \"*/chunks/\(index)\"}, \"times\": \(times), \"action\": \(action)}"
  }

  /// Faults that pass: the file arrives, and only the chunk that suffered is sent again.
  @Test(arguments: [
    #"{"dropUploadAfter": "100KiB"}"#, #"{"flipUploadBit": 9}"#, #"{"status": 503}"#,
    #"{"status": 429, "retryAfter": "1"}"#, #"{"status": 500}"#, #"{"delay": "300ms"}"#,
    #"{"uploadRate": "1MiB"}"#,
  ])
  func passing(_ action: String) async throws {
    let (bench, depot, run) = try await run([Self.chunkRule(action)])
    try expectWhole(bench, run)
    let counts = try await depot.log().chunks.reduce(into: [:]) { $0[$1.path, default: 0] += 1 }
    #expect(
      counts.allSatisfy { $0.value == 1 || $0.key.hasSuffix("/chunks/3") && $0.value == 2 }, "\(counts)")
  }

  /// The server has it: it is not sent again.
  @Test func lostAnswerToAChunk() async throws {
    let (bench, depot, run) = try await run([Self.chunkRule(#"{"loseAnswer": true}"#)])
    try expectWhole(bench, run)
    #expect(try await depot.log().chunks.reduce(0) { $0 + $1.received } == Int64(Self.size + 1000))
  }

  @Test func lostAnswerToFinalizeAndCreate() async throws {
    let (bench, depot, run) = try await run([
      #"{"match": {"path": "*/finalize"}, "times": 1, "action": {"loseAnswer": true}}"#,
      #"{"match": {"method": "POST", "path": "*/sessions"}, "times": 1, "action": {"loseAnswer": true}}"#,
    ])
    try expectWhole(bench, run)
    #expect(try await depot.log().chunks.reduce(0) { $0 + $1.received } == Int64(Self.size + 1000))
  }

  /// What is refused for what it is, is asked for once.
  @Test func refusedCreate() async throws {
    let (_, depot, run) = try await run([
      #"{"match": {"method": "POST", "path": "*/sessions"}, "action": {"status": 400}}"#
    ])
    #expect(run.state("one") == "failed PROTOCOL_VIOLATION" && run.state("beside") == run.state("one"))
    #expect(try await depot.log().count(where: \.isCreate) == 2)
  }

  /// The session ends mid-way: a new one is opened, and the file arrives.
  @Test(arguments: [#"{"expire": true}"#, #"{"forget": "session"}"#])
  func expired(_ action: String) async throws {
    let (bench, depot, run) = try await run([Self.chunkRule(action, index: "5")])
    try expectWhole(bench, run)
    #expect(try await depot.log().count(where: \.isCreate) >= 3)
    #expect(run.remarks.contains("session"), "\(run.remarks)")
  }

  @Test func expiredForEver() async throws {
    let (_, _, run) = try await run(
      [Self.chunkRule(#"{"expire": true}"#, index: "5", times: 1000)], attempts: 3)
    #expect(run.status == 1)
    #expect(run.state("one") == "failed SESSION_EXPIRED")
    #expect(run.state("beside") == "completed")
  }

  /// The server forgot chunks that it had acknowledged: its word counts, they are sent again.
  @Test func forgottenChunks() async throws {
    let (bench, _, run) = try await run([
      #"{"match": {"path": "*/finalize"}, "times": 1, "action": {"forget": "chunks"}}"#
    ])
    try expectWhole(bench, run)
  }

  @Test func finalizeWithAnotherHash() async throws {
    let (bench, depot, run) = try await run([
      #"{"match": {"path": "*/finalize"}, "times": 1, "action": {"finalHash": "wrong"}}"#
    ])
    #expect(run.state("one") == "completed", "\(run.errors)")
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
    #expect(try await depot.log().count(where: \.isFinalize) >= 3)
  }

  @Test func finalizeWithAnotherHashForEver() async throws {
    let (bench, _, run) = try await run([
      #"{"match": {"path": "*/finalize"}, "action": {"finalHash": "wrong"}}"#
    ])
    #expect(run.status == 1)
    #expect(run.state("one") == "failed INTEGRITY_MISMATCH")
    #expect(run["one"]["error"]["expected"].string == (try Sums.file(bench.job + "/up.bin")))
    #expect(run["one"]["error"]["actual"].string?.count == 64)
  }

  @Test func requiredHeaders() async throws {
    let (bench, depot, run) = try await run([
      #"{"match": {"path": "/uploads/*"}, "action": {"requireHeader": {"name": "X-Batch", "value": "blue"}}}"#
    ])
    try expectWhole(bench, run)
    #expect(try await depot.log().chunks.allSatisfy { $0.status == 201 })
  }

  /// The server takes smaller chunks than the manifest wants: a diagnostic, never silent.
  @Test func smallerChunks() async throws {
    let (bench, depot, run) = try await run([], depotOptions: ["--max-chunk", "128KiB"])
    try expectWhole(bench, run)
    #expect(try await depot.log().chunks.allSatisfy { $0.received <= 128 << 10 })
    #expect(run.remarks.contains("131072"), "\(run.remarks)")
  }

  /// Also where the whole file would have been one chunk.
  @Test func smallerChunksThanTheFile() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, options: ["--max-chunk", "128KiB"])
    try bench.source("up.bin", size: 300_000, seed: 21)
    let run = try await bench.run(
      """
      version: 1
      job: small
      endpoints: { depot: \(depot.endpoint) }
      transfers: [{ id: one, upload: up.bin, to: "depot:in/up.bin" }]
      """)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(run.remarks.contains("131072 bytes, as the server wants"), "\(run.remarks)")
    #expect(run["one"]["chunk_size"].int == 131_072)
  }

  @Test func conflict() async throws {
    let (bench, _, run) = try await run([
      Self.chunkRule(#"{"status": 409, "code": "CHUNK_CONFLICT"}"#)
    ])
    try expectWhole(bench, run)
  }

  @Test func chunksByRangeAlone() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.source("up.bin", size: Self.size, seed: 21)
    let run = try await bench.run(
      """
      version: 1
      job: ranged
      endpoints: { depot: { type: session, url: "\(depot.url)", chunks: range } }
      defaults: { chunk_size: 512KiB }
      transfers: [{ id: one, upload: up.bin, to: "depot:in/up.bin" }]
      """)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
    #expect(try await depot.log().chunks.allSatisfy { $0.path.hasSuffix("/chunks") })
  }

  /// The source changes while it is sent, in place or by another file in its place: a new session, once, as soon as
  /// a chunk shows it.
  @Test(arguments: ["in place", "replaced"]) func sourceChanges(_ manner: String) async throws {
    let (bench, depot) = try await changing([
      #"{"match": {"method": "PUT"}, "action": {"uploadRate": "512KiB"}}"#
    ])
    let running = try bench.start(bench.runArguments())
    while try await depot.log().chunks.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    try bench.source("new.bin", size: Self.size - 1000, seed: 33)
    if manner == "replaced" {
      _ = try Sums.shell("mv new.bin up.bin", in: bench.job)
    } else {
      try overwrite(bench.job + "/up.bin", with: bench.job + "/new.bin")
    }
    try await expectNew(
      bench, try await running.wait(), manner == "replaced" ? "replaced while" : "changed while")
    let first = try #require(try await depot.log().chunks.first?.path.split(separator: "/chunks/").first)
    let inVain = try await depot.log().chunks.count { $0.path.hasPrefix(first + "/") }
    // 17 chunks, of which two are on their way when the first is there.
    #expect(inVain < 12, "\(inVain) chunks of a source that had gone were sent")
  }

  /// The source changes when all of it was sent: before the server is told to finish, or while it does.
  @Test(arguments: ["*/chunks/16", "*/finalize"]) func sourceChangesAtTheEnd(_ path: String) async throws {
    let (bench, depot) = try await changing([
      "{\"match\": {\"path\": \"\(path)\"}, \"times\": 1, \"action\": {\"delay\": \"2s\"}}"
    ])
    let running = try bench.start(bench.runArguments())
    while try await depot.log().chunks.count < 16 { try await Task.sleep(for: .milliseconds(20)) }
    try bench.source("up.bin", size: Self.size, seed: 33)
    try await expectNew(bench, try await running.wait(), "while it was sent")
  }

  /// In one go: a copy that takes its time would be a second change.
  private func overwrite(_ path: String, with other: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: other))
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.truncate(atOffset: UInt64(data.count))
    try handle.seek(toOffset: 0)
    try handle.write(contentsOf: data)
    try handle.close()
  }

  private func changing(_ faults: [String]) async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: faults)
    try bench.source("up.bin", size: Self.size, seed: 21)
    try bench.writeJob(
      """
      version: 1
      job: changing
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { chunks_in_flight: 2 } }
      defaults: { chunk_size: 256KiB, policy: p }
      transfers: [{ id: one, upload: up.bin, to: "depot:in/up.bin" }]
      """)
    return (bench, depot)
  }

  private func expectNew(_ bench: Bench, _ end: Finished, _ remark: String) async throws {
    let run = try await HaulRun(end, reportPath: bench.reportPath)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
    #expect(run.remarks.contains(remark), "\(run.remarks)")
  }

  /// A depot that is killed and comes back keeps what it acknowledged.
  @Test func depotIsKilled() async throws {
    let bench = try Bench()
    let slow = [#"{"match": {"method": "PUT"}, "action": {"uploadRate": "512KiB"}}"#]
    let depot = try await Depot(bench, faults: slow)
    try bench.source("up.bin", size: Self.size, seed: 21)
    try bench.writeJob(
      """
      version: 1
      job: restarted
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 256KiB }
      transfers: [{ id: one, upload: up.bin, to: "depot:in/up.bin" }]
      """)
    let running = try bench.start(bench.runArguments())
    while try await depot.log().chunks.count < 4 { try await Task.sleep(for: .milliseconds(20)) }
    depot.process.signal(SIGKILL)
    try await depot.process.wait()
    try await Task.sleep(for: .milliseconds(300))
    let again = try await Depot(bench, faults: slow, port: depot.port)
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
    let stored = try await again.log().chunks.filter { $0.status == 201 }
    #expect(Set(stored.map(\.path)).count == stored.count, "an acknowledged chunk was sent again")
  }
}
