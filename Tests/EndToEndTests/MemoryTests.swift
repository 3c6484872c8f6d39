import Foundation
import TestSupport
import Testing

/// Memory does not grow with a file's size or a plan's length.
@Suite(.turns, .timeLimit(.minutes(30)))
struct MemoryTests {
  private static let mebibyte = 1 << 20

  @Test func oneGibibyteEachWay() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("big.bin", size: 1 << 30, seed: 3)
    let down = try await bench.run(
      """
      version: 1
      job: down
      endpoints: { depot: \(depot.endpoint) }
      transfers: [{ id: one, download: "depot:big.bin", to: big.bin }]
      """, limit: .seconds(400))
    #expect(down.status == 0, "\(down.errors)")
    #expect(down.faults == "")
    #expect(down.end.peakMemory < 80 * Self.mebibyte)
    let up = try await bench.run(
      """
      version: 1
      job: up
      endpoints: { depot: \(depot.endpoint) }
      transfers: [{ id: one, upload: big.bin, to: "depot:again.bin" }]
      """, limit: .seconds(400))
    #expect(up.status == 0, "\(up.errors)")
    #expect(up.end.peakMemory < 80 * Self.mebibyte)
    #expect(try Sums.file(bench.served + "/again.bin") == Sums.file(bench.served + "/big.bin"))
    print(
      "memory: down \(down.end.peakMemory >> 10) KiB in \(down.end.seconds) s,",
      "up \(up.end.peakMemory >> 10) KiB in \(up.end.seconds) s")
  }

  @Test func hundredThousandRows() async throws {
    let bench = try Bench()
    let rows = (0..<100_000).map { "files/\($0).bin,http://127.0.0.1:1/files/\($0).bin" }
    try Data(("path,url\n" + rows.joined(separator: "\n") + "\n").utf8)
      .write(to: URL(fileURLWithPath: bench.job + "/rows.csv"))
    try bench.writeJob(
      """
      version: 1
      job: rows
      transfers:
        - id: row
          for_each: { csv: rows.csv, key: "${each.path}" }
          download: "${each.url}"
          to: "got/${each.path}"
        - { id: nothing, download: "http://127.0.0.1:1/", to: nothing, enabled: false }
      """)
    let plan = try await bench.haul(["plan", "job.yaml", "--json"], limit: .seconds(400))
    #expect(plan.status == 0, "\(plan.errors)")
    #expect(plan.peakMemory < 100 * Self.mebibyte)
    #expect(plan.output.suffix(2000).contains("100001"))
    print("memory: plan of 100,000 rows \(plan.peakMemory >> 10) KiB in \(plan.seconds) s")
    let run = try await bench.haul(["run", "job.yaml", "--only", "nothing"], limit: .seconds(400))
    #expect(run.status == 0, "judged by what was selected: \(run.errors)")
    #expect(run.peakMemory < 100 * Self.mebibyte)
    print("memory: run of 100,000 rows, none chosen \(run.peakMemory >> 10) KiB in \(run.seconds) s")
  }
}
