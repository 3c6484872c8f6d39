import Foundation
import TestSupport
import Testing

/// The exit codes of wrong use, of refused runs, and what must not be left behind.
@Suite(.turns)
struct ExitCodesTests {
  private let good = """
    version: 1
    job: codes
    transfers:
      - { id: one, upload: a.bin, to: "http://127.0.0.1:1/a.bin", enabled: false }

    """

  @Test(arguments: [
    ["--no-such-option"], ["run"], ["run", "job.yaml", "--set", "novalue"], ["frobnicate"],
    ["run", "job.yaml", "--deadline", "soon"], ["run", "job.yaml", "--if-running", "maybe"],
    ["check"], ["report", "job.yaml", "--format", "paper"], ["run", "job.yaml", "--deadline", "0s"],
    ["run", "job.yaml", "--only", "a", "--only", "b"], ["run", "job.yaml", "--set", "nosuch=1"],
    ["check", "job.yaml", "--set", "nosuch=1"], ["history", "codes", "--limit", "0"], ["gc", "--keep", "-1"],
    ["help", "nope"], ["pause", "codes", "["], ["plan", "-"],
    ["status", "--watch", "--json"],
  ])
  func usage(_ arguments: [String]) async throws {
    let bench = try Bench()
    try bench.writeJob(good)
    let end = try await bench.haul(arguments)
    #expect(end.status == 64, "\(end.errors)")
    #expect(!end.errors.isEmpty)
    #expect(end.output.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.state).isEmpty)
  }

  /// As a variable that is not set leaves it: that is not to mean the working folder.
  @Test func anEmptyStateFolder() async throws {
    let bench = try Bench()
    try bench.writeJob(good)
    for arguments in [["status"], ["run", "job.yaml"], ["pause", "codes"]] {
      let end = try await Running(
        Programs.haul, arguments + ["--state-dir", ""], environment: bench.environment(), folder: bench.job,
        scratch: bench.scratch.path
      ).wait()
      #expect(end.status == 64 && end.errors.contains("`--state-dir` is empty"), "\(end.errors)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: bench.job) == ["job.yaml"])
    }
  }

  @Test func undeclaredVariable() async throws {
    let bench = try Bench()
    let end = try await bench.run(good, ["--set", "nosuch=1"])
    #expect(end.status == 64 && end.report["run"]["exit_code"].int == 64)
    #expect(end.errors.contains("nosuch"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.state).isEmpty)
  }

  @Test func invalidManifest() async throws {
    let bench = try Bench()
    let run = try await bench.run(
      """
      version: 1
      job: broken
      transfers:
        - id: one
          download: nowhere:a.bin
          to: a.bin
          mode: "0999"
          chunk_sise: 8MiB
        - id: one
          upload: b.bin
          to: http://127.0.0.1:1/b.bin
      """)
    #expect(run.status == 65)
    #expect(run.outcome == "invalid")
    #expect(run.faults == "")
    for place in ["job.yaml:5:15", "job.yaml:7:11", "job.yaml:8:5", "job.yaml:9:9"] {
      #expect(run.errors.contains(place), "\(place) in \(run.errors)")
      #expect(
        run.report["diagnostics"].array.contains { $0["place"].string?.contains(place) == true }, "\(place)")
    }
    #expect(run.errors.contains("chunk_size"))
    #expect(run.errors.contains("^"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.state).isEmpty)
    for command in ["check", "plan"] {
      let end = try await bench.haul([command, "job.yaml"])
      // JSON is for who asks for it.
      #expect(end.status == 65 && end.output.isEmpty, "\(end.output)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: bench.state).isEmpty)
    }
  }

  @Test func noInput() async throws {
    let bench = try Bench()
    try bench.writeJob(
      """
      version: 1
      job: rows
      transfers:
        - id: row
          for_each: { csv: none.csv, key: "${each.path}" }
          download: "http://127.0.0.1:1/${each.path}"
          to: "got/${each.path}"
      """)
    for arguments in [
      ["run", "none.yaml"], ["check", "none.yaml"], ["plan", "none.yaml"], ["status", "unknown"],
      ["report", "unknown"], ["history", "unknown"], ["check", "job.yaml"], ["run", "job.yaml"],
    ] {
      let end = try await bench.haul(arguments)
      #expect(end.status == 66, "\(arguments): \(end.errors)")
      #expect(!end.errors.isEmpty)
    }
  }

  @Test func cannotCreate() async throws {
    let bench = try Bench()
    try bench.writeJob(good)
    try bench.source("file", size: 1)
    for options in [
      ["--report", "file/r.json"], ["--events", "file/e.jsonl"], ["--report", "nofolder/r.json"],
    ] {
      let end = try await bench.haul(["run", "job.yaml"] + options)
      #expect(end.status == 73, "\(options): \(end.errors)")
    }
    let end = try await Running(
      Programs.haul, ["run", "job.yaml", "--state-dir", "file/state"], environment: bench.environment(),
      folder: bench.job, scratch: bench.scratch.path
    ).wait()
    #expect(end.status == 73, "\(end.errors)")
  }

  /// What keeps a report from being written is the command's end, whatever the run came to.
  @Test func theSummarySaysHowTheCommandEnds() async throws {
    let bench = try Bench()
    let depot = try await Depot(
      bench, faults: [#"{"match": {"method": "GET", "path": "/files/*"}, "action": {"rate": "70KiB"}}"#])
    try bench.serve("a.bin", size: 140_000)
    try bench.writeJob(
      """
      version: 1
      job: unreported
      endpoints: { depot: \(depot.endpoint) }
      transfers: [{ id: one, download: "depot:a.bin", to: a.bin }]
      """)
    let (events, out) = (bench.scratch.path + "/events", bench.scratch.path + "/out")
    try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: true)
    let run = try bench.start([
      "run", "job.yaml", "--no-progress", "--report", out + "/r.json", "--events", events,
    ])
    while JSON.lines(events).isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    try FileManager.default.removeItem(atPath: out)
    let end = try await run.wait()
    #expect(end.status == 73, "\(end.errors)")
    #expect(end.errors.contains("exit code 73") && !end.errors.contains("exit code 0"), "\(end.errors)")
  }

  @Test func alreadyRunning() async throws {
    let bench = try Bench()
    let depot = try await Depot(
      bench, faults: [#"{"match": {"method": "GET", "path": "/files/*"}, "action": {"rate": "70KiB"}}"#])
    try bench.serve("a.bin", size: 700_000)
    let yaml = """
      version: 1
      job: twice
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 4MiB }
      transfers: [{ id: one, download: "depot:a.bin", to: a.bin }]
      """
    try bench.writeJob(yaml)
    let events = bench.scratch.path + "/events"
    let first = try bench.start(["run", "job.yaml", "--events", events])
    while JSON.lines(events).isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    let second = try await bench.run()
    #expect(second.status == 76)
    #expect(second.outcome == "refused")
    #expect(second.faults == "")
    #expect(try await bench.haul(["run", "job.yaml", "--if-running", "skip"]).status == 0)
    let waiting = try bench.start(["run", "job.yaml", "--if-running", "wait"])
    #expect(first.isAlive)
    #expect(try await first.wait().status == 0)
    #expect(try await waiting.wait().status == 0)
    #expect(try bench.isSame("a.bin", "a.bin"))
    let history = try await bench.haul(["history", "twice", "--json"])
    #expect(history.status == 0)
    #expect(try JSON.parse(history.output)["runs"].array.count == 2, "\(history.output)")
  }

  @Test func anotherManifestOfOneName() async throws {
    let bench = try Bench()
    _ = try await bench.run(good)
    try bench.writeJob(good, as: "other.yaml")
    for command in ["run", "plan"] {
      let refused = try await bench.haul([command, "other.yaml"])
      #expect(refused.status == 65, "\(refused.errors)")
      #expect(refused.errors.contains("--adopt"))
    }
    #expect(try await bench.haul(["run", "other.yaml", "--adopt"]).status == 0)
    #expect(try await bench.haul(["run", "other.yaml"]).status == 0)
    #expect(try await bench.haul(["run", "job.yaml"]).status == 65)
  }
}
