import Foundation
import TestSupport
import Testing

/// What `run` can be told: `--set`, `--only`, `--new-run`, `--deadline`, `--fail-fast`, `--precheck`, `--json`.
@Suite(.turns)
struct RunOptionsTests {
  private func job(_ depot: Depot, _ transfers: String) -> String {
    """
    version: 1
    job: options
    vars: { name: a }
    endpoints: { depot: \(depot.endpoint) }
    policies: { quick: { transfers: 1, retry: { attempts: 1 } } }
    defaults: { policy: quick, chunk_size: 64KiB }
    transfers:
    \(transfers)
    """
  }

  /// A report never takes the manifest's place, however it is spelled and whatever the run comes to.
  @Test func theManifestIsNoReport() async throws {
    let bench = try Bench()
    try bench.writeJob("version: 1\njob: options\ntransfers: nonsense\n")
    for option in ["--report", "--metrics", "--events"] {
      let spelled = bench.job + "/./job.yaml"
      let end = try await bench.haul(bench.runArguments([option, spelled]))
      #expect(end.status == 64 && end.errors.contains("is the manifest"), "\(end.errors)")
    }
    #expect(try String(contentsOfFile: bench.job + "/job.yaml", encoding: .utf8).hasSuffix("nonsense\n"))
  }

  /// Nor that of the job's state, nor of the events.
  @Test func noReportIsWrittenOverWhatIsKept() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 10)
    try bench.writeJob(job(depot, #"  - { id: one, download: "depot:a.bin", to: one.bin }"#))
    #expect(try await bench.haul(["run", "job.yaml", "--events", "e"]).status == 0)
    let kept = try Sums.shell("sha256sum plan.sqlite", in: bench.state + "/options")
    let plan = bench.state + "/options/./plan.sqlite"
    for (options, words) in [
      (["--report", plan], "state"), (["--events", plan], "state"), (["--metrics", plan + "-wal"], "state"),
      (["--report", bench.state + "/options/run.lock"], "state"),
      (["--report", bench.state + "/options/command.lock"], "state"),
      (["--metrics", bench.state + "/options/tokens.json.new"], "state"),
      (["--report", bench.state + "/options/reports/x.json"], "state"),
      (["--report", "./e", "--events", "e"], "events"),
      (["--report", "m", "--metrics", "./m"], "both json and prometheus"),
      (["--report", "-", "--events", "-"], "standard output"),
      (["--json", "--metrics", "-"], "standard output"),
    ] {
      let end = try await bench.haul(["run", "job.yaml"] + options)
      #expect(end.status == 64 && end.errors.contains(words), "\(options): \(end.errors)")
    }
    #expect(try Sums.shell("sha256sum plan.sqlite", in: bench.state + "/options") == kept)
    try bench.writeJob("{}", as: "part.json")
    for (options, words) in [
      (["options", "--output", plan], "state"), (["options", "--output", "./job.yaml"], "the manifest"),
      (["job.yaml", "--output", bench.state + "/options/reports/x.json"], "state"),
      (["merge", "part.json", "--output", plan], "state"),
      (["merge", "part.json", "--output", "./part.json"], "one of the reports to merge"),
    ] {
      let end = try await bench.haul(["report"] + options)
      #expect(end.status == 64 && end.errors.contains(words), "\(options): \(end.errors)")
    }
    #expect(try Sums.shell("sha256sum plan.sqlite", in: bench.state + "/options") == kept)
    for options in [
      ["run", "job.yaml", "--report", "one.bin"], ["run", "job.yaml", "--events", "./one.bin"],
      ["report", "options", "--output", "one.bin"],
    ] {
      let end = try await bench.haul(options)
      #expect(end.status == 64 && end.errors.contains("the transfer `one`"), "\(options): \(end.errors)")
    }
    // One that this run itself brings is known when it is there.
    try FileManager.default.removeItem(atPath: bench.job + "/one.bin")
    let late = try await bench.haul(["run", "job.yaml", "--report", "one.bin"])
    #expect(late.status == 73 && late.errors.contains("the transfer `one`"), "\(late.errors)")
    #expect(try Data(contentsOf: URL(filePath: bench.job + "/one.bin")).count == 10)
    #expect(try await bench.haul(["report", "options", "--output", "options"]).status == 0)
    #expect(try await bench.haul(["report", "options", "--output", "options"]).status == 0)
    let beside = ["--report", bench.state + "/options/last.json", "--events", "/dev/null"]
    #expect(try await bench.haul(["run", "job.yaml", "--metrics", "/dev/null"] + beside).status == 0)
  }

  @Test func setBelongsToTheRun() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a", "b", "c"] {
      try bench.serve(name + ".bin", size: 10, seed: UInt64(name.utf8.first ?? 0))
    }
    try bench.serve("large.bin", size: 500_000_000)
    let yaml = job(
      depot,
      """
        - { id: one, download: "depot:${var.name}.bin", to: "${var.name}.bin" }
        - { id: far, download: "depot:large.bin", to: far.bin, policy: { bandwidth: 10KB/s } }
      """)
    #expect(try await bench.run(yaml, ["--set", "name=b", "--deadline", "1s"]).status == 75)
    #expect(bench.exists("b.bin"))
    #expect(try await bench.run(nil, ["--set", "name=c"]).status == 64)
    // Left out, the run keeps its own.
    let same = try await bench.run(nil, ["--deadline", "1s"])
    #expect(same.status == 75)
    #expect(same.report["run"]["number"].int == 1)
    #expect(same["one"]["destination"].string == "b.bin")
    let new = try await bench.run(nil, ["--set", "name=c", "--new-run", "--deadline", "1s"])
    #expect(new.report["run"]["number"].int == 2)
    #expect(new.report["run"]["attempt"].int == 1)
    #expect(try bench.isSame("c.bin", "c.bin"))
  }

  /// Libraries that clusters preload call setenv(3) before main, which moves what Swift looks for its arguments beside.
  @Test func aPreloadedLibraryMovesTheEnvironment() async throws {
    let bench = try Bench()
    let source = try bench.scratch.write(
      "se.c",
      """
      #include <stdlib.h>
      __attribute__((constructor)) static void begin(void) { setenv("SITE", "1", 1); }

      """)
    let library = bench.scratch.path + "/se.so"
    _ = try Sums.shell("cc -shared -fPIC -o \(library) \(source)", in: bench.scratch.path)
    let end = try await bench.haul(["run", "missing.yaml"], environment: ["LD_PRELOAD": library])
    #expect(end.status != 0 && end.errors.contains("missing.yaml"), "\(end.output) \(end.errors)")
  }

  @Test func only() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 10)
    let yaml = job(
      depot,
      """
        - { id: in/one, download: "depot:a.bin", to: one.bin }
        - { id: in/two, download: "depot:a.bin", to: two.bin }
        - { id: out, download: "depot:a.bin", to: out.bin }
      """)
    // A typing error opens no run.
    let none = try await bench.run(yaml, ["--only", "zz*"])
    #expect(none.status == 66 && none.errors.contains("matches no transfer"), "\(none.errors)")
    #expect(none.report["run"]["number"].isNull)
    let part = try await bench.run(yaml, ["--only", "in/*"])
    #expect(part.report["run"]["number"].int == 1)
    #expect(part.faults == "")
    #expect(part.state("in/one") == "completed" && part.state("in/two") == "completed")
    #expect(!bench.exists("out.bin"))
    // What was not asked for does not count, and is as it was.
    #expect(part.status == 0 && part.outcome == "completed", "\(part.errors)")
    #expect(part["out"]["state"].string == "queued")
    let selection = part.report["selection"]
    #expect(selection["only"].string == "in/*" && selection["totals"]["transfers"].int == 2)
    #expect(selection["totals"]["completed"].int == 2)
    let rest = try await bench.run()
    #expect(rest.status == 0 && rest.report["selection"].isNull)
    #expect(rest.report["run"]["number"].int == 2)
    #expect(rest.state("out") == "completed" && rest.state("in/one") == "up_to_date")
    // It leaves what is complete complete, and what it needs.
    let again = try await bench.run(nil, ["--only", "out"])
    #expect(again.status == 0 && again.state("in/one") == "up_to_date" && again.totals["requests"].int == 1)
  }

  @Test func deadline() async throws {
    let bench = try Bench()
    let depot = try await Depot(
      bench, faults: [#"{"match": {"method": "GET", "path": "/files/*"}, "action": {"rate": "100KiB"}}"#])
    try bench.serve("a.bin", size: 800_000)
    let yaml = job(depot, #"  - { id: one, download: "depot:a.bin", to: one.bin }"#)
    let cut = try await bench.run(yaml, ["--deadline", "1s"])
    #expect(cut.status == 75)
    #expect(cut.faults == "")
    #expect(cut.state("one") == "paused deadline")
    #expect(cut.transferred < 800_000, "\(cut.errors)")
    #expect(try await bench.run().status == 0)
    #expect(try bench.isSame("one.bin", "a.bin"))
  }

  @Test func failFast() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 10)
    let yaml = job(
      depot,
      """
        - { id: bad, download: "depot:none.bin", to: bad.bin }
        - { id: later, download: "depot:a.bin", to: later.bin, needs: [middle] }
        - { id: middle, download: "depot:a.bin", to: middle.bin }
      """)
    let run = try await bench.run(yaml, ["--fail-fast"])
    #expect(run.status == 1)
    #expect(run.faults == "")
    #expect(run.outcome == "failed")
    #expect(run.state("bad") == "failed NOT_FOUND")
    #expect(run["later"]["state"].string == "queued")
    #expect(!bench.exists("later.bin"))
  }

  @Test func precheck() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.source("here.bin", size: 10)
    let yaml = job(
      depot,
      """
        - { id: here, upload: here.bin, to: "depot:here.bin" }
        - { id: gone, upload: gone.bin, to: "depot:gone.bin" }
      """)
    let strict = try await bench.run(yaml, ["--precheck", "strict"])
    #expect(strict.status != 0)
    #expect(strict.errors.contains("gone"))
    #expect(try await depot.log().isEmpty)
    #expect(!FileManager.default.fileExists(atPath: bench.served + "/here.bin"))
    let run = try await bench.run()
    #expect(run.status == 1)
    #expect(run.state("here") == "completed")
    #expect(run.state("gone") == "failed SOURCE_MISSING")
  }

  @Test func standardOutputCarriesOnlyWhatWasAskedFor() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 10)
    try bench.writeJob(job(depot, #"  - { id: one, download: "depot:a.bin", to: one.bin }"#))
    let quiet = try await bench.haul(["run", "job.yaml"])
    #expect(quiet.status == 0)
    #expect(quiet.output.isEmpty)
    let report = try await bench.haul(["run", "job.yaml", "--report", "-"])
    #expect(try JSON.parse(report.output)["schema"].string == "haul.report/v1")
    let json = try await bench.haul(["run", "job.yaml", "--json", "--report", "-"])
    #expect(try JSON.parse(json.output)["run"]["number"].int == 3)
    let events = try await bench.haul(["run", "job.yaml", "--events", "-"])
    let lines = try events.output.split(separator: "\n").map { try JSON.parse(String($0)) }
    #expect(lines.first?["event"].string == "run_started")
    #expect(lines.last?["event"].string == "run_ended")
    for text in [quiet, report, json, events].map(\.errors) { #expect(!text.contains("\u{1B}")) }
  }

  /// plan, check, status, report and history agree, and their JSON is valid.
  @Test func commands() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 100_000)
    try bench.writeJob(job(depot, #"  - { id: one, download: "depot:a.bin", to: one.bin }"#))
    func json(_ arguments: [String], _ schema: String) async throws -> JSON {
      let end = try await bench.haul(arguments + ["--json"])
      #expect(end.status == 0, "\(arguments): \(end.errors)")
      let file = try bench.scratch.write("out.json", end.output)
      #expect(try await Schema.faults(of: file, name: schema) == "", "\(arguments)")
      return try JSON.parse(end.output)
    }
    _ = try await json(["check", "job.yaml"], "check")
    let plan = try await json(["plan", "job.yaml"], "plan")
    #expect(plan["transfers"][0]["size"].isNull)
    #expect(plan["transfers"][0]["action"].string == "transfer")
    let probed = try await json(["plan", "job.yaml", "--probe"], "plan")
    #expect(probed["transfers"][0]["size"].int == 100_000)
    #expect(probed["totals"]["bytes_to_move"].int == 100_000)
    #expect(!bench.exists("one.bin"))
    #expect(try await depot.log().moved == 0)
    let run = try await bench.run()
    #expect(run.status == 0)
    let status = try await json(["status", "options"], "report")
    #expect(status["totals"] == run.report["totals"])
    let report = try await json(["report", "job.yaml"], "report")
    #expect(report["transfers"] == run.report["transfers"])
    #expect(report["run"]["id"] == run.report["run"]["id"])
    _ = try await json(["history", "options"], "history")
    let after = try await json(["plan", "job.yaml"], "plan")
    #expect(after["totals"]["bytes_to_move"].int == 0)
    #expect(after["transfers"][0]["action"].string == "up_to_date")
  }

  /// The queue is read a page at a time: pages without a match must not end the run.
  @Test func onlyFarDownTheList() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("n1499.bin", size: 1000)
    let names = (0..<1500).map { "n\($0).bin\n" }.joined()
    try Data(names.utf8).write(to: URL(fileURLWithPath: bench.job + "/names.txt"))
    let job = """
      version: 1
      job: far
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - id: f
          for_each: { list: names.txt, key: "${each.line}" }
          download: "depot:${each.line}"
          to: "out/${each.line}"

      """
    let run = try await bench.run(job, ["--only", "f/n1499.bin"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.state("f/n1499.bin") == "completed")
    #expect(try bench.isSame("out/n1499.bin", "n1499.bin"))
    #expect(run.totals["queued"].int == 1499)
  }
}
