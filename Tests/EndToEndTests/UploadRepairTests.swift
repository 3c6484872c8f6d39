import Foundation
import TestSupport
import Testing

/// Uploads that a server refuses again and again, and sources that do not come to rest: each ends, and says why.
@Suite(.turns)
struct UploadRepairTests {
  private static let size = (2 << 20) + 7

  private func bench(_ faults: [String]) async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: faults)
    try bench.source("up.bin", size: Self.size, seed: 91)
    try bench.source("beside.bin", size: 1000, seed: 92)
    try bench.writeJob(
      """
      version: 1
      job: repair
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { transfers: 1, retry: { attempts: 3, initial: 10ms, max: 20ms } } }
      defaults: { policy: p, chunk_size: 512KiB }
      transfers:
        - { id: one, upload: up.bin, to: "depot:in/up.bin" }
        - { id: beside, upload: beside.bin, to: "depot:in/beside.bin" }

      """)
    return (bench, depot)
  }

  private static func rule(_ path: String, _ action: String, times: Int? = nil, skip: Int = 0) -> String {
    let count = times.map { ", \"times\": \($0)" } ?? ""
    return "{\"match\": {\"path\": \"\(path)\"}, \"skip\": \(skip)\(count), \"action\": \(action)}"
  }

  private func expectWhole(_ bench: Bench, _ run: HaulRun) throws {
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
  }

  private func expectFailed(_ bench: Bench, _ run: HaulRun, _ code: String) {
    #expect(run.status == 1, "\(run.errors)")
    #expect(run.faults == "")
    #expect(run.state("one") == "failed " + code)
    #expect(run.state("beside") == "completed")
    #expect(!FileManager.default.fileExists(atPath: bench.served + "/in/up.bin"))
  }

  private static let refusal = #"{"status": 422, "code": "INTEGRITY_MISMATCH"}"#

  /// Refused at the end: the session is asked what it holds, then all is sent anew in smaller chunks; the
  /// diagnostics name the chunks, their digests and the server's answer.
  @Test func finalizeRefusedOnce() async throws {
    let (bench, depot) = try await bench([Self.rule("*/finalize", Self.refusal, times: 1)])
    let run = try await bench.run()
    try expectWhole(bench, run)
    let first = try Sums.shell("head -c 524288 up.bin | sha256sum", in: bench.job).prefix(64)
    for words in ["422", "chunks 0:\(first) 1:", "4:"] {
      #expect(run.remarks.contains(words), "\(run.remarks)")
    }
    let log = try await depot.log()
    let refused = try #require(log.firstIndex { $0.isFinalize && $0.status == 422 })
    #expect(log[refused...].contains { $0.method == "GET" && $0.path.contains("/uploads/sessions/") })
    #expect(
      Array(log[refused...]).chunks.filter { $0.status == 201 && $0.received > 1000 }.allSatisfy {
        $0.received <= 128 << 10
      })
    #expect(run["one"]["bytes"]["discarded"].int == Int64(Self.size))
  }

  @Test func finalizeRefusedForEver() async throws {
    let (bench, depot) = try await bench([Self.rule("*/finalize", Self.refusal, times: 2)])
    let run = try await bench.run()
    expectFailed(bench, run, "INTEGRITY_MISMATCH")
    #expect(run["one"]["error"]["http_status"].int == 422)
    // Nothing is left there: the session was given up.
    #expect(try await depot.log().contains { $0.method == "DELETE" && $0.status == 204 })
  }

  /// The server lost a chunk's bytes by its own word: that chunk is sent again, no other.
  @Test func chunkRefusedByItsHash() async throws {
    let (bench, depot) = try await bench([Self.rule("*/chunks/3", #"{"flipUploadBit": 9}"#, times: 1)])
    try expectWhole(bench, try await bench.run())
    let counts = try await depot.log().chunks.reduce(into: [:]) { $0[$1.path.suffix(9), default: 0] += 1 }
    #expect(counts["/chunks/3"] == 2 && counts["/chunks/2"] == 1, "\(counts)")
  }

  @Test func chunkRefusedForEver() async throws {
    let (bench, _) = try await bench([Self.rule("*/chunks/3", #"{"flipUploadBit": 9}"#)])
    let run = try await bench.run()
    expectFailed(bench, run, "INTEGRITY_MISMATCH")
    #expect(run["one"]["error"]["chunk"].int == 3)
    #expect(run["one"]["max_chunk_attempts"].int == 3)
  }

  @Test func conflictForEver() async throws {
    let (bench, _) = try await bench([
      Self.rule("*/chunks/3", #"{"status": 409, "code": "CHUNK_CONFLICT"}"#)
    ])
    let run = try await bench.run()
    expectFailed(bench, run, "CHUNK_CONFLICT")
    #expect(run["one"]["error"]["chunk"].int == 3)
  }

  /// The session ends when all chunks are there: a new one takes them over where the server still has them, and else
  /// gets them all.
  @Test(arguments: [(#"{"expire": true}"#, 0), (#"{"forget": "session"}"#, Self.size)])
  func goneAtFinalize(_ action: String, _ lost: Int) async throws {
    let (bench, depot) = try await bench([Self.rule("*/finalize", action, times: 1)])
    let run = try await bench.run()
    try expectWhole(bench, run)
    #expect(run.remarks.contains("session"), "\(run.remarks)")
    #expect(try await depot.log().count(where: \.isCreate) == 3)
    #expect(run["one"]["bytes"]["discarded"].int == Int64(lost))
  }

  @Test func goneAtFinalizeForEver() async throws {
    let (bench, depot) = try await bench([Self.rule("*/finalize", #"{"expire": true}"#)])
    let run = try await bench.run()
    #expect(run.status == 1 && run.faults == "" && run.state("one") == "failed SESSION_EXPIRED")
    #expect(!FileManager.default.fileExists(atPath: bench.served + "/in/up.bin"))
    // As many sessions as the policy has tries take over what the one before held; then it is given up.
    #expect(run["one"]["bytes"]["transferred"].int == Int64(Self.size))
    #expect(run["one"]["bytes"]["discarded"].int == Int64(Self.size))
    #expect(try await depot.log().count(where: \.isCreate) == 8)
  }

  /// The answer to finalize is lost and the session with it: what stands there now is the good news.
  @Test func finalizeAnswerLostAndSessionForgotten() async throws {
    let (bench, depot) = try await bench([
      Self.rule("*/finalize", #"{"loseAnswer": true}"#, times: 1),
      Self.rule("*/finalize", #"{"forget": "session"}"#, times: 1, skip: 1),
    ])
    let run = try await bench.run()
    try expectWhole(bench, run)
    #expect(
      try await depot.log().chunks.filter { $0.received > 1000 || $0.path.contains("chunks/4") }.count <= 6)
  }

  /// A source that goes on changing: one fresh start, then it is given up; the session is kept until `cancel`.
  @Test func sourceThatNeverRests() async throws {
    let (bench, depot) = try await bench([
      #"{"match": {"method": "PUT"}, "action": {"uploadRate": "1MiB"}}"#
    ])
    // A process of its own: a busy test run holds tasks up for longer than an upload takes.
    let writer = Process()
    writer.executableURL = URL(fileURLWithPath: "/bin/sh")
    writer.arguments = ["-c", "while sleep 0.05; do printf more >> '\(bench.job)/up.bin'; done"]
    try writer.run()
    defer { writer.terminate() }
    let running = try bench.start(bench.runArguments())
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    expectFailed(bench, run, "SOURCE_CHANGED")
    #expect(run.remarks.contains("a new session is opened"), "\(run.remarks)")
    #expect(run["one"]["session"].string == "open")
    #expect(try await bench.haul(["cancel", "repair", "one"]).status == 0)
    #expect(try await depot.log().last?.method == "DELETE")
  }
}
