import Foundation
import TestSupport
import Testing

/// Killed at seeded instants, run to the end: what S3 held is not sent again.
@Suite(.turns, .timeLimit(.minutes(15)))
struct S3KillTests {
  @Test(arguments: ["upload", "download"])
  func kills(_ direction: String) async throws {
    let bench = try Bench()
    let part = 5 << 20
    let size = 12 * part + 77
    let s3 = try await StrictS3(bench, config: ["\"page\": 5"])
    try bench.source("a.bin", size: size, seed: 9)
    if direction == "download" {
      let first = try await bench.run(
        """
        version: 1
        job: before
        endpoints: { s3: \(s3.endpoint()) }
        transfers: [{ id: one, upload: a.bin, to: "s3:a.bin" }]
        """, environment: StrictS3.environment)
      #expect(first.status == 0, "\(first.errors)")
    }
    try s3.set(["\"page\": 5", "\"rate\": 6000000"])
    let before = s3.log().count
    let transfer =
      direction == "upload"
      ? "{ id: one, upload: a.bin, to: \"s3:b.bin\" }" : "{ id: one, download: \"s3:a.bin\", to: b.bin }"
    try bench.writeJob(
      """
      version: 1
      job: killed
      endpoints: { s3: \(s3.endpoint()) }
      defaults: { chunk_size: 5MiB }
      transfers: [\(transfer)]
      """)
    var seed: UInt64 = 0x53AD
    var kills = 0
    for _ in 0..<5 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let running = try bench.start(bench.runArguments(), environment: StrictS3.environment)
      try await Task.sleep(for: .milliseconds(200 + Int(seed >> 33) % 1800))
      guard running.isAlive else { break }
      running.signal(SIGKILL)
      #expect(try await running.wait(.seconds(5)).status == 128 + SIGKILL)
      kills += 1
    }
    #expect(kills >= 3)
    try s3.set(["\"page\": 5"])
    let run = try await bench.run(nil, environment: StrictS3.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    let visits = s3.log().dropFirst(before)
    if direction == "upload" {
      // What the store has listed is never sent again. What it finished reading after a kill, behind the list, may be:
      // no more than the chunks that were in flight.
      var listed: Set<Int> = []
      for visit in visits {
        listed.formUnion(visit.listed)
        if visit.op == "part", visit.status == 200, let part = visit.part {
          #expect(!listed.contains(part), "part \(part) was listed, and sent again")
        }
      }
      #expect(!listed.isEmpty)
      let taken = visits.filter { $0.op == "part" && $0.status == 200 }.compactMap(\.part)
      #expect(taken.count <= Set(taken).count + kills * 4, "\(taken)")
      #expect(Set(taken).count == 13)
      #expect(visits.filter { $0.op == "create" && $0.status == 200 }.count == 1)
      let check = try await bench.run(
        """
        version: 1
        job: after
        endpoints: { s3: \(s3.endpoint()) }
        transfers: [{ id: one, download: "s3:b.bin", to: b.bin }]
        """, environment: StrictS3.environment)
      #expect(check.status == 0, "\(check.errors)")
    } else {
      let moved = visits.reduce(0) { $0 + $1.sent }
      // Of each of four chunks in flight, what had not been recorded when the kill came.
      #expect(moved <= Int64(size + kills * 4 * part), "\(moved)")
      #expect(bench.parts().isEmpty)
    }
    #expect(try Sums.file(bench.job + "/b.bin") == Sums.file(bench.job + "/a.bin"))
  }
}
