import Foundation
import TestSupport
import Testing

/// Killed at seeded instants, run to the end: what S3 held is not sent again.
@Suite(.turns)
struct S3KillTests {
  private static let part = 5 << 20
  private static let size = 12 * part + 77
  private static let chunk = 512 << 10
  private static let environment = StrictS3.environment

  private func job(_ s3: StrictS3, _ transfer: String, chunk: Int) -> String {
    """
    version: 1
    job: killed
    endpoints: { s3: \(s3.endpoint()) }
    defaults: { chunk_size: \(chunk) }
    transfers: [{ id: one, \(transfer) }]
    """
  }

  @Test(arguments: ["upload", "download"]) func kills(_ direction: String) async throws {
    if direction == "upload" { try await uploads() } else { try await downloads() }
  }

  private func uploads() async throws {
    // The last part that the store finished reading behind its list, of each of four requests in flight.
    try await RemoteKills.torture("s3 upload", cost: 4 * Self.part) { seed in
      let bench = try Bench()
      let s3 = try await StrictS3(bench, config: ["\"page\": 5", "\"rate\": 6000000"])
      try bench.source("a.bin", size: Self.size, seed: seed)
      try bench.writeJob(job(s3, "upload: a.bin, to: \"s3:b.bin\"", chunk: Self.part))
      let taken = { s3.log().filter { $0.op == "part" && $0.status == 200 } }
      return RemoteKills.Round(
        bench: bench, environment: Self.environment, span: 2000,
        isBegun: { !taken().isEmpty }, isOver: { Set(taken().compactMap(\.part)).count == 13 },
        prepareLast: { try s3.set(["\"page\": 5"]) },
        settle: { _ throws -> Int64 in
          let log = s3.log()
          #expect(log.compactMap(\.published) == [try Sums.file(bench.job + "/a.bin")])
          // What the store has listed of an upload is never sent to it again, and no part of another is wasted. What a
          // killed run had sent before may be read to its end behind the list.
          for visit in taken() {
            let known = log.first { list in
              list.upload == visit.upload && list.ended < visit.begun
                && visit.part.map(list.listed.contains) ?? false
            }
            #expect(known == nil, "part \(visit.part ?? 0) was listed, and sent again: \(visit.line)")
          }
          #expect(Set(taken().map(\.upload)).count == 1)
          #expect(Set(taken().compactMap(\.part)).count == 13)
          return taken().reduce(0) { $0 + $1.received } - Int64(Self.size)
        })
    }
  }

  private func downloads() async throws {
    // Of each of four ranges in flight, and what one commit had not yet recorded.
    try await RemoteKills.torture("s3 download", cost: 8 * Self.chunk) { seed in
      let bench = try Bench()
      let s3 = try await StrictS3(bench)
      try bench.source("a.bin", size: Self.size / 4, seed: seed)
      let first = try await bench.run(
        job(s3, "upload: a.bin, to: \"s3:a.bin\"", chunk: Self.part).replacing("killed", with: "before"),
        environment: Self.environment)
      try #require(first.status == 0, "\(first.errors)")
      try s3.set(["\"rate\": 1000000"])
      try bench.writeJob(job(s3, "download: \"s3:a.bin\", to: b.bin", chunk: Self.chunk))
      let moved = { s3.log().filter { $0.op == "get" }.reduce(0) { $0 + $1.sent } }
      return RemoteKills.Round(
        bench: bench, environment: Self.environment, span: 1000,
        isBegun: { moved() > 0 }, isOver: { moved() >= Self.size / 4 },
        settle: { _ throws -> Int64 in
          #expect(try Sums.file(bench.job + "/b.bin") == Sums.file(bench.job + "/a.bin"))
          return moved() - Int64(Self.size / 4)
        })
    }
  }
}
