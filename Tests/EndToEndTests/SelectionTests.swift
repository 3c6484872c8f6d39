import Foundation
import TestSupport
import Testing

/// cli.md: `run --failed` and `--only-from`, judged by what they select.
@Suite(.turns)
struct SelectionRunTests {
  private static func job(_ depot: Depot) -> String {
    """
    version: 1
    job: some
    endpoints: { depot: \(depot.endpoint) }
    transfers:
      - { id: a, download: "depot:a.bin", to: a.bin }
      - { id: b, download: "depot:b.bin", to: b.bin }
      - { id: c, download: "depot:c.bin", to: c.bin }
      - { id: d, download: "depot:d.bin", to: d.bin, needs: [c] }
    """
  }

  @Test func whatFailedIsTriedAgainAndNothingElseIsAsked() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a", "b", "d"] { try bench.serve(name + ".bin", size: 100) }
    let first = try await bench.run(Self.job(depot))
    #expect(first.status == 1 && first.state("c") == "failed NOT_FOUND")
    let twice = try await bench.haul(["report", "some", "--failed", "--ids", "--json"])
    #expect(twice.status == 64 && twice.errors.contains("two forms"), "\(twice.errors)")
    let left = try await bench.haul(["report", "some", "--failed", "--ids"])
    #expect(left.output == "c\nd\n" && left.status == 0)
    let rest = try JSON.parse(
      try await bench.haul(["report", "some", "--failed", "--format", "json"]).output)
    #expect(rest["transfers"].array.compactMap { $0["id"].string } == ["c", "d"])
    #expect(rest["totals"]["transfers"].int == 4)
    try bench.serve("c.bin", size: 100)
    let asked = try await depot.log().count
    let second = try await bench.run(nil, ["--failed"])
    #expect(second.status == 0 && second.faults == "", "\(second.errors)")
    #expect(second.state("c") == "completed" && second.state("d") == "completed")
    #expect(second.report["selection"]["kind"].string == "failed")
    #expect(second.report["selection"]["totals"]["completed"].int == 2)
    let all = try await depot.log()
    #expect(all.count > asked)
    #expect(all.dropFirst(asked).allSatisfy { "\($0)".contains("/c.bin") || "\($0)".contains("/d.bin") })
    // Nothing is left: nothing is asked.
    let third = try await bench.run(nil, ["--failed"])
    #expect(third.status == 0 && third.report["selection"]["totals"]["completed"].int == 0)
    #expect(try await depot.log().count == all.count)
  }

  @Test func noticesSpeakOfWhatIsSelected() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a", "b", "d"] { try bench.serve(name + ".bin", size: 100) }
    let tell = #"[sh, -c, "echo $HAUL_TOTALS_TRANSFERS $HAUL_TOTALS_FAILED > told"]"#
    let first = try await bench.run(Self.job(depot) + "\non: { end: [ { command: \(tell) } ] }\n")
    #expect(first.status == 1 && first.faults == "", "\(first.errors)")
    let told = { try String(contentsOfFile: bench.job + "/told", encoding: .utf8) }
    #expect(try told() == "4 1\n")
    #expect(try await bench.run(nil, ["--only", "a"]).status == 0)
    #expect(try told() == "1 0\n")
  }

  @Test func idsComeFromAFileOrStandardInput() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a", "b", "c"] { try bench.serve(name + ".bin", size: 100) }
    try bench.writeJob("b\r\n\nc", as: "ids.txt")
    let run = try await bench.run(Self.job(depot), ["--only-from", "ids.txt"])
    // What is judged is b and c: d, which fails, is not asked for.
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(run.state("b") == "completed" && run.state("c") == "completed")
    #expect(run["a"]["state"].string == "queued" && run.report["selection"]["kind"].string == "only_from")
    try bench.writeJob("b\nnone\nother\n", as: "ids.txt")
    let unknown = try await bench.run(nil, ["--only-from", "ids.txt"])
    #expect(
      unknown.status == 66
        && unknown.errors.contains("2 of its ids are no transfer of the job `some`: none, other"))
    #expect(try await bench.haul(["run", "job.yaml", "--only-from", "absent.txt"]).status == 66)
    for wrong in [["--failed", "--only", "a"], ["--failed", "--only-from", "ids.txt"]] {
      #expect(try await bench.haul(["run", "job.yaml"] + wrong).status == 64)
    }
    let shell = "printf 'a\\n' | \(Programs.haul) run job.yaml --only-from - --state-dir '\(bench.state)'"
    let piped = try Running(
      "/bin/sh", ["-c", shell], environment: bench.environment(), folder: bench.job,
      scratch: bench.scratch.path)
    #expect(try await piped.wait(.seconds(60)).status == 0)
    #expect(bench.exists("a.bin"))
  }
}
