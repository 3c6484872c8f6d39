import Foundation
import TestSupport
import Testing

/// A store that says `SlowDown` is asked less at a time, and more again when it takes that well: by its own count.
@Suite(.turns)
struct S3SlowDownTests {
  private static let environment = StrictS3.environment
  private static let width = 8

  private func endpoints(_ s3: StrictS3) -> String {
    """
    version: 1
    job: slow
    policies:
      p:
        transfers: \(Self.width)
        chunks_in_flight: \(Self.width)
        connections: { total: 16, per_host: \(Self.width) }
        retry: { attempts: 9, initial: 20ms, max: 200ms }
    endpoints: { s3: \(s3.endpoint("multipart_threshold: 5MiB")) }
    """
  }

  /// Small objects and parts of a large one, up and down.
  @Test(arguments: ["put", "part", "get"]) func fewerAtATime(_ kind: String) async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench)
    let count = kind == "part" ? 1 : 90
    for number in 0..<count {
      try bench.source("in/\(number)", size: kind == "part" ? 220 << 20 : 30_000, seed: UInt64(number + 1))
    }
    func job(_ transfer: String) -> String {
      endpoints(s3) + "\ndefaults: { policy: p, chunk_size: 5MiB }\ntransfers:\n  - \(transfer)\n"
    }
    let up = "{ id: up, upload: \"in/*\", to: \"s3:x/\" }",
      down = "{ id: down, download: \"s3:x/\", to: out/ }"
    if kind == "get" {
      #expect(try await bench.run(job(up), environment: Self.environment).status == 0)
    }
    let before = s3.log().count
    // Each request takes a while, so that it is seen how many there are at a time: longer than a part takes to be hashed
    // and sent on a busy machine.
    try s3.set([
      "\"pause\": \(kind == "part" ? 0.3 : 0.15)",
      "\"faults\": [{\"on\": \"\(kind)\", \"do\": \"slowdown\", \"from\": 14, \"times\": 8}]",
    ])
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(
      job(kind == "get" ? down : up), ["--events", events], environment: Self.environment,
      limit: .seconds(200))
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    let visits = s3.log().dropFirst(before).filter { $0.op == kind }.sorted { $0.begun < $1.begun }
    let refused = visits.filter { $0.status == 503 }
    let (first, last) = (refused.map(\.ended).min() ?? 0, refused.map(\.ended).max() ?? 0)
    #expect(refused.count == 8)
    let most = visits.filter { $0.begun < first }.map(\.flight).max() ?? 0
    #expect(most >= Self.width - 2)
    // A little later: what was under way has ended, and the next ones came under the smaller window.
    let next = visits.filter { $0.begun > last + 0.02 }.prefix(4).map(\.flight)
    #expect(next.count == 4 && next.allSatisfy { $0 <= most / 2 + 1 }, "\(next) after \(most)")
    #expect((visits.suffix(30).map(\.flight).max() ?? 0) > (next.max() ?? 0), "more again when it goes well")
    let changes = JSON.lines(events).filter { $0["event"].string == "host_state" }
    #expect(
      changes.contains { $0["change"].string == "slowed" && $0["reason"].string?.contains("503") == true })
    #expect(run.remarks.contains("HTTP 503"), "\(run.remarks)")
    if kind == "get" { #expect(try Sums.tree(bench.job + "/out") == Sums.tree(bench.job + "/in")) }
    // Nothing but what was refused was asked for twice.
    #expect(visits.count == (kind == "part" ? 44 : 90) + 8)
  }
}
