import Foundation
import TestSupport
import Testing

/// Multipart uploads that nobody goes on with are ended, however often that takes: what they hold is paid for.
@Suite(.turns)
struct S3AbandonedTests {
  private static let environment = StrictS3.environment
  private static let refusing = "{\"on\": \"abort\", \"do\": \"internal\", \"times\": 1000}"

  /// An upload of which some parts are there, stopped.
  private func begun(_ faults: String) async throws -> (Bench, StrictS3) {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: ["\"faults\": [\(faults)]", "\"rate\": 8000000"])
    try bench.source("a.bin", size: 30 << 20)
    try bench.writeJob(
      """
      version: 1
      job: left
      policies: { p: { retry: { attempts: 3, initial: 10ms, max: 50ms } } }
      endpoints: { s3: \(s3.endpoint()) }
      defaults: { chunk_size: 5MiB, policy: p }
      transfers: [{ id: one, upload: a.bin, to: "s3:a.bin" }]
      """)
    let running = try bench.start(bench.runArguments(), environment: Self.environment)
    try await RemoteKills.wait(while: { !s3.log().contains { $0.op == "part" && $0.status == 200 } })
    running.signal(SIGTERM)
    #expect(try await running.wait().status == 75)
    return (bench, s3)
  }

  private func gc(_ bench: Bench, _ options: [String] = []) async throws -> Finished {
    try await bench.haul(["gc", "left"] + options, environment: Self.environment)
  }

  private func aborts(_ s3: StrictS3) -> [Int64] { s3.log().filter { $0.op == "abort" }.map(\.status) }
  private func created(_ s3: StrictS3) -> Int { s3.log().count { $0.op == "create" && $0.status == 200 } }

  /// A canceled upload that the store does not end is kept on record, told, and ended by `haul gc`.
  @Test func canceledAndEndedLater() async throws {
    let (bench, s3) = try await begun(Self.refusing)
    let cancel = try await bench.haul(["cancel", "left"], environment: Self.environment)
    #expect(cancel.status == 0, "\(cancel.errors)")
    #expect(cancel.errors.contains("could not be ended") && cancel.errors.contains("haul gc"))
    #expect(aborts(s3) == [500, 500, 500])
    let dry = try await gc(bench, ["--dry-run"])
    #expect(
      dry.status == 0 && dry.output.contains("would remove session of `left`: s3:a.bin"), "\(dry.output)")
    #expect(aborts(s3).count == 3, "a dry run asks nobody")
    let first = try await gc(bench, ["--json"])
    #expect(first.status == 75 && first.errors.contains("InternalError"), "\(first.errors)")
    #expect(try JSON.parse(first.output)["items"].array.isEmpty)
    try s3.set([])
    let second = try await gc(bench)
    #expect(second.status == 0 && second.output.contains("removed session of `left`"), "\(second.output)")
    #expect(aborts(s3).last == 204)
    #expect(try await gc(bench).output == "nothing to remove\n")
    #expect(created(s3) == 1 && aborts(s3).filter { $0 == 204 }.count == 1)
  }

  /// The source changed: the new file goes up in a new upload, and the next run ends the old one.
  @Test func endedByTheNextRun() async throws {
    let (bench, s3) = try await begun(Self.refusing)
    try bench.source("a.bin", size: 20 << 20, seed: 2)
    let run = try await bench.run(nil, environment: Self.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(run.remarks.contains("could not be ended"), "\(run.remarks)")
    #expect(created(s3) == 2 && !aborts(s3).isEmpty && !aborts(s3).contains(204))
    #expect(s3.log().compactMap(\.published) == [try Sums.file(bench.job + "/a.bin")])
    try s3.set([])
    let next = try await bench.run(nil, environment: Self.environment)
    #expect(next.state("one") == "up_to_date", "\(next.errors)")
    #expect(aborts(s3).last == 204)
    let last = try await bench.run(nil, environment: Self.environment)
    #expect(last.status == 0 && aborts(s3).filter { $0 == 204 }.count == 1)
    #expect(!last.remarks.contains("could not be ended"))
  }

  /// Parts that arrive behind the end keep an upload alive: it is ended until it is gone.
  @Test(arguments: ["linger", "drop_after", "slowdown"]) func endedUntilItIsGone(_ fault: String) async throws
  {
    let (bench, s3) = try await begun("{\"on\": \"abort\", \"do\": \"\(fault)\", \"times\": 2}")
    let cancel = try await bench.haul(["cancel", "left"], environment: Self.environment)
    #expect(cancel.status == 0 && !cancel.errors.contains("could not be ended"), "\(cancel.errors)")
    let tries: [Int64] =
      switch fault {
      case "linger": [204, 204, 204]
      case "drop_after": [0, 404]
      default: [503, 503, 204]
      }
    #expect(aborts(s3).prefix(tries.count) == tries[...], "\(aborts(s3))")
    #expect(s3.log().last { $0.op == "parts" || $0.op == "abort" }?.status == 404)
    #expect(try await gc(bench).output == "nothing to remove\n")
  }

  /// A store that can't be reached holds nothing up, and what it has is ended when it is back.
  @Test func unreachable() async throws {
    let (bench, s3) = try await begun("")
    await s3.process.end()
    let text = try String(contentsOfFile: bench.job + "/job.yaml", encoding: .utf8)
    try bench.writeJob(
      text.replacing(
        "{ id: one, upload: a.bin, to: \"s3:a.bin\" }",
        with: "{ id: two, upload: a.bin, to: \"s3:b\", enabled: false }"))
    let run = try await bench.run(nil, environment: Self.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.remarks.contains("could not be ended"), "\(run.remarks)")
    let dry = try await gc(bench, ["--dry-run"])
    #expect(dry.output.contains("would remove session of `left`: s3:a.bin"), "\(dry.output)")
  }
}
