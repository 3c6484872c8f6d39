import Foundation
import TestSupport
import Testing

/// Memory does not grow with a file's size or a plan's length.
@Suite(.turns)
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

  /// Reports of parts are merged with one transfer of each in memory.
  @Test func manyReportsAreMerged() async throws {
    let bench = try Bench()
    let script = """
      import json, sys
      count, rows = 500, 40000
      # Each part has compiled the whole plan, and says what there is to say of it.
      warnings = [{"severity": "warning", "message": f"{number} " + "x" * 800, "place": None, "hint": None} for number in range(200)]
      for index in range(1, count + 1):
          numbers = range(index, rows + 1, count)
          with open(f"shard-{index}.json", "w") as file:
              head = {"schema": "haul.report/v1", "tool": {"name": "haul", "version": "0"},
                "job": {"name": "many", "state": "completed", "manifest": "job.yaml", "manifest_sha256": "ab" * 32,
                  "description": None, "bandwidth": None, "limits": None, "hosts": []},
                "run": {"id": f"01RUN{index}", "number": 1, "attempt": 1, "started_at": "2026-01-01T00:00:00.000Z",
                  "ended_at": "2026-01-01T00:01:00.000Z", "duration_s": 60, "outcome": "completed", "exit_code": 0,
                  "host": "h", "shard": {"index": index, "count": count}, "attempts": [], "pauses": []},
                "totals": {"transfers": len(numbers), "completed": len(numbers), "up_to_date": 0, "failed": 0, "paused": 0,
                  "canceled": 0, "queued": 0, "skipped": 0,
                  "bytes": {"planned": 0, "transferred": 0, "reused": 0, "discarded": 0}, "requests": 0, "retries": 0},
                "diagnostics": warnings, "notices": [], "causes": [], "left_manifest": {"count": 0, "ids": []},
                "selection": None, "transfers_scope": "all"}
              file.write(json.dumps(head)[:-1] + ', "transfers": [')
              for place, number in enumerate(numbers):
                  file.write(("," if place else "") + json.dumps({"id": f"rows/{number:07d}", "ordinal": number,
                    "direction": "download", "state": "completed", "source": "https://host.example/" + "x" * 200,
                    "policy": {"ref": "p1"}, "capabilities": "c1", "size": number}))
              file.write('], "policies": {"p1": {}}, "capabilities": {"c1": {}}}')
      """
    let made = try await Running(
      Programs.python, ["-c", script], environment: bench.environment(), folder: bench.job,
      scratch: bench.scratch.path
    ).wait()
    try #require(made.status == 0, "\(made.errors)")
    let paths = (1...500).map { "shard-\($0).json" }
    let end = try await bench.haul(
      ["report", "merge", "--output", "all.json"] + paths, limit: .seconds(400))
    #expect(end.status == 0, "\(end.errors)")
    #expect(end.peakMemory < 64 * Self.mebibyte)
    let text = try String(contentsOfFile: bench.job + "/all.json", encoding: .utf8)
    let ids = text.matches(of: /"id":"rows\/([0-9]+)"/).compactMap { Int($0.1) }
    #expect(ids == Array(1...40_000))
    #expect(text.matches(of: /"severity":\s*"warning"/).count == 200)
    print("memory: 500 reports of 40,000 transfers merged in \(end.peakMemory >> 10) KiB, \(end.seconds) s")
  }
}
