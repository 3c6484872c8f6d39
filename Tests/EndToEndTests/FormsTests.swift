import Foundation
import TestSupport
import Testing

/// The forms of a report, from a run and from its state, as the programs that they are for take them.
@Suite(.turns)
struct FormsTests {
  private func job(_ depot: Depot, more: String = "") -> String {
    """
    version: 1
    job: forms
    endpoints: { depot: \(depot.endpoint) }
    transfers:
      - { id: one, download: "depot:a.bin", to: "=<b>\\u202ea.bin" }
      - { id: two, download: "depot:b.bin", to: in/b.bin }
      - { id: up, upload: up.bin, to: "depot:up.bin" }
    \(more)
    """
  }

  private func file(_ bench: Bench, _ name: String) -> String {
    FileManager.default.contents(atPath: bench.scratch.path + "/" + name).map {
      String(decoding: $0, as: UTF8.self)
    } ?? ""
  }

  private func value(_ metrics: String, _ name: String) -> Double? {
    metrics.split(separator: "\n").first { $0.hasPrefix("haul_job_" + name) }?.split(separator: " ").last
      .flatMap { Double($0) }
  }

  @Test func aRunWritesEachFormThatItIsAskedFor() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a.bin", "b.bin"] { try bench.serve(name, size: 100_000) }
    try bench.source("up.bin", size: 50_000)
    let names = ["r.csv", "r.html", "r.jsonl", "r.xml", "r.sha256sums", "r.txt", "r.odd"]
    let options = names.flatMap { ["--report", bench.scratch.path + "/" + $0] }
    let run = try await bench.run(
      job(depot, more: "  - { id: gone, download: \"depot:none\", to: in/none }"),
      options + ["--metrics", bench.scratch.path + "/haul.prom"])
    #expect(run.status == 1 && run.faults == "", "\(run.errors) \(run.faults)")
    for (name, form) in [
      ("r.csv", "csv"), ("r.html", "html"), ("r.jsonl", "jsonl"), ("r.xml", "junit"),
      ("r.sha256sums", "sha256sums"),
      ("r.txt", "text"), ("r.odd", "json"), ("haul.prom", "prometheus"),
    ] {
      let printed = try await bench.haul(["report", "forms", "--format", form])
      #expect(printed.status == 0 && printed.output == file(bench, name), "\(name): \(printed.errors)")
    }
    #expect(file(bench, "r.csv").contains(",'=<b>"))
    #expect(file(bench, "r.jsonl").split(separator: "\n").count == 5)
    #expect(file(bench, "r.xml").contains("failures=\"1\""))
    let proved = try Sums.shell("sha256sum --strict -c ../r.sha256sums", in: bench.job)
    #expect(proved.split(separator: "\n").count == 3, "\(proved)")
    #expect(value(file(bench, "haul.prom"), "exit_code") == 1)
    // An older run's forms come from its stored report; a suffix tells the form.
    #expect(try await bench.run(job(depot)).status == 0)
    let old = try await bench.haul(["report", "forms", "--run", "1", "--output", "../old.csv"])
    #expect(old.status == 0 && old.output == "", "\(old.errors)")
    #expect(file(bench, "old.csv").contains("NOT_FOUND") && file(bench, "old.csv").contains(",'=<b>"))
    let text = try await bench.haul(["report", "forms", "--run", "1"])
    #expect(text.status == 0 && text.output.hasPrefix("forms: failed (run 1, "), "\(text.output)")
    #expect(text.output.contains("1 failed") && text.output.contains("exit code 1"), "\(text.output)")
    #expect(text.output.contains("NOT_FOUND at ") && text.output.contains("(gone)"), "\(text.output)")
  }

  /// A command that is refused behind a run changes nothing of what that run's report says.
  @Test func aRefusedCommandLeavesTheLastReport() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a.bin", "b.bin"] { try bench.serve(name, size: 1000) }
    try bench.source("up.bin", size: 1000)
    let run = try await bench.run(job(depot))
    #expect(run.status == 0, "\(run.errors)")
    try bench.writeJob(job(depot, more: "  - { id: late, download: \"depot:a.bin\", to: in/late }"))
    let refused = try await bench.haul(["run", "job.yaml", "--only", "zz"])
    #expect(refused.status == 66, "\(refused.errors)")
    let after = try await bench.haul(["report", "forms", "--format", "json"])
    let report = try JSON.parse(after.output)
    #expect(after.status == 0 && report["totals"]["transfers"].int == 3, "\(report["totals"])")
    #expect(report["job"]["state"].string == "completed" && report["transfers"].array.count == 3)
    let text = try await bench.haul(["report", "forms"])
    #expect(text.status == 0 && !text.output.contains("queued"), "\(text.output)")
    #expect(try await bench.run().totals["completed"].int == 1)
    #expect(try await bench.haul(["report", "forms"]).output.contains("4 transfers"))
  }

  /// A control behind a run is for the next one: what ended stays told as it ended, and only the ids are as they are now.
  @Test(arguments: [
    (["retry", "forms", "gone"], "gone\n"), (["cancel", "forms", "gone"], ""),
    (["retry", "forms", "one", "--from-scratch"], "one\ngone\n"),
  ]) func aControlLeavesTheLastReport(_ control: [String], left: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a.bin", "b.bin"] { try bench.serve(name, size: 1000) }
    try bench.source("up.bin", size: 1000)
    let run = try await bench.run(job(depot, more: "  - { id: gone, download: \"depot:none\", to: in/none }"))
    #expect(run.status == 1, "\(run.errors)")
    #expect(try await bench.haul(control).status == 0)
    let after = try JSON.parse(try await bench.haul(["report", "forms", "--format", "json"]).output)
    #expect(after["totals"] == run.report["totals"] && after["transfers"] == run.report["transfers"])
    #expect(after["causes"] == run.report["causes"], "\(after["causes"])")
    let junit = try await bench.haul(["report", "forms", "--run", "1", "--format", "junit"])
    #expect(junit.output.contains("failures=\"1\""), "\(junit.output)")
    let text = try await bench.haul(["report", "forms"])
    #expect(text.output.contains("1 failed") && text.output.contains("(gone)"), "\(text.output)")
    #expect(try await bench.haul(["report", "forms", "--failed", "--ids"]).output == left)
    let status = try JSON.parse(try await bench.haul(["status", "forms", "--json"]).output)
    #expect(status["totals"] != run.report["totals"], "`status` is live")
  }

  @Test func aRefusedRunTellsItsMetrics() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: Depot.slow(10_000))
    for name in ["a.bin", "b.bin"] { try bench.serve(name, size: 1_000_000) }
    try bench.source("up.bin", size: 1_000_000)
    try bench.writeJob(job(depot))
    let first = try bench.start(["run", "job.yaml", "--no-progress"])
    let metrics = bench.scratch.path + "/haul.prom"
    for _ in 0..<200 {
      let status = try await bench.haul(["status", "forms", "--json"])
      if status.output.contains("\"state\": \"running\"") { break }
      try await Task.sleep(for: .milliseconds(50))
    }
    let second = try await bench.haul(["run", "job.yaml", "--no-progress", "--metrics", metrics])
    #expect(second.status == 76, "\(second.errors)")
    #expect(value(file(bench, "haul.prom"), "exit_code") == 76)
    #expect(value(file(bench, "haul.prom"), "last_success_timestamp_seconds") == 0)
    #expect(value(file(bench, "haul.prom"), "transfers{job=\"forms\",state=\"running\"}") ?? 0 > 0)
    // What a skipped run knows is not how the job does.
    let skipped = try await bench.haul([
      "run", "job.yaml", "--no-progress", "--metrics", metrics, "--if-running", "skip",
    ])
    #expect(skipped.status == 0 && value(file(bench, "haul.prom"), "exit_code") == 76)
    first.signal(SIGINT)
    #expect(try await first.wait().status == 75)
  }

  /// Notices have reports written twice, which a pipe can't be.
  @Test func aPipeGetsItsReportOnce() async throws {
    let bench = try Bench()
    let yaml = """
      version: 1
      job: piped
      on: { end: [ { command: ["true"] } ] }
      transfers: [ { id: a, download: "http://127.0.0.1:1/x", to: x, enabled: false } ]

      """
    for (text, code) in [(yaml, 0), (yaml + "nokey: 1\n", 65)] {
      try bench.writeJob(text)
      let told = try Sums.shell(
        """
        rm -f p m; mkfifo p m; timeout 30 cat p > p.out & timeout 30 cat m > m.out &
        umask 077; { timeout 20 '\(Programs.haul)' run job.yaml --no-progress --state-dir '\(bench.state)' \
          --report p --metrics m --report haul.prom --report /dev/stdout 2>errors; echo $? >code; } | cat > out
        cat code; wait; stat -c %a haul.prom
        grep -c '"schema"' p.out out; grep -c '^haul_job_exit_code' m.out; grep -c '"delivered"' p.out || true
        """, in: bench.job)
      #expect(told == "\(code)\n644\np.out:1\nout:1\n1\n1\n", "\(told)")
    }
  }

  @Test func metricsKeepTheirJob() async throws {
    let bench = try Bench()
    let metrics = bench.scratch.path + "/haul.prom"
    func run(_ yaml: String) async throws -> Int32 {
      try bench.writeJob(yaml)
      return try await bench.haul(["run", "job.yaml", "--no-progress", "--metrics", metrics]).status
    }
    let broken = "version: 1\njob: [named"
    // Nothing tells the name of this one.
    #expect(try await run(broken) == 65 && !FileManager.default.fileExists(atPath: metrics))
    let yaml = """
      version: 1
      job: named
      transfers: [ { id: a, download: "http://127.0.0.1:1/x", to: x, enabled: false } ]
      """
    #expect(try await run(yaml) == 0 && value(file(bench, "haul.prom"), "exit_code{job=\"named\"}") == 0)
    #expect(try await run(broken) == 65)
    #expect(value(file(bench, "haul.prom"), "exit_code{job=\"named\"}") == 65)
    // A report that is gone is said to be.
    #expect(try await run(yaml) == 0)
    try FileManager.default.removeItem(atPath: bench.state + "/named/reports")
    let gone = try await bench.haul(["report", "named", "--run", "1", "--format", "json"])
    #expect(
      gone.status == 66 && gone.errors.contains("run 1 of the job `named` is no longer kept"), "\(gone)")
    #expect(try await bench.haul(["report", "named", "--run", "1"]).status == 0)
  }

  /// Of a run that was asked for some transfers, CI servers and the page's verdict speak of those alone.
  @Test func aSelectionIsJudgedByItself() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a.bin", "b.bin"] { try bench.serve(name, size: 1000) }
    try bench.source("up.bin", size: 1000)
    let yaml = job(depot, more: "  - { id: gone, download: \"depot:none\", to: in/none }")
    #expect(try await bench.run(yaml).status == 1)
    let left = try JSON.parse(try await bench.haul(["report", "forms", "--failed", "--json"]).output)
    #expect(left["transfers_scope"].string == "incomplete" && left["totals"]["transfers"].int == 4)
    #expect(left["transfers"].array.map { $0["id"].string } == ["gone"])
    let path = try bench.scratch.write(
      "left.json", try await bench.haul(["report", "forms", "--failed", "--json"]).output)
    #expect(try await Schema.faults(of: path, name: "report") == "")
    func written(_ options: [String]) async throws -> (Int32, junit: String, page: String) {
      let (junit, page) = (bench.scratch.path + "/s.xml", bench.scratch.path + "/s.html")
      let end = try await bench.haul(
        ["run", "job.yaml", "--no-progress", "--report", junit, "--report", page] + options)
      return (end.status, file(bench, "s.xml"), file(bench, "s.html"))
    }
    let one = try await written(["--only", "t*"])
    #expect(
      one.0 == 0 && one.junit.contains("tests=\"1\" failures=\"0\"") && one.junit.contains("name=\"two\""))
    #expect(!one.junit.contains("name=\"gone\""))
    #expect(one.page.contains("<b>Completed.</b> 1 of 1 transfer in place"), "\(one.page.prefix(8000))")
    #expect(one.page.contains("Only transfers that match <bdi>t*</bdi> were asked for."))
    let failed = try await written(["--failed"])
    #expect(failed.0 == 1 && failed.junit.contains("tests=\"1\" failures=\"1\""))
    #expect(failed.page.contains("<b>Failed.</b> 1 of 1 transfer failed"))
    #expect(failed.page.contains("Only what had not completed before was asked for."))
    let ids = try bench.scratch.write("ids", "one\nup\n")
    let listed = try await written(["--only-from", ids])
    #expect(listed.0 == 0 && listed.junit.contains("tests=\"2\"") && !listed.junit.contains("name=\"two\""))
    #expect(listed.page.contains("Only the transfers of a list were asked for."))
  }

  /// Whoever was refused may end last: its report leaves alone what the other has written since.
  @Test func aRefusedRunLeavesTheNewerReport() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: Depot.slow(200_000))
    try bench.serve("a.bin", size: 400_000)
    // The first to be told waits; the other is told at once.
    let wait = "mkdir once 2>/dev/null || exit 0; while [ ! -e go ]; do sleep 0.05; done"
    try bench.writeJob(
      """
      version: 1
      job: forms
      endpoints: { depot: \(depot.endpoint) }
      on: { failure: [ { command: [sh, -c, "\(wait)"] } ] }
      transfers: [ { id: one, download: "depot:a.bin", to: a.bin } ]
      """)
    let first = try bench.start(bench.runArguments())
    while !FileManager.default.fileExists(atPath: bench.state + "/forms/plan.sqlite") || bench.parts().isEmpty
    {
      try #require(first.isAlive)
      try await Task.sleep(for: .milliseconds(20))
    }
    // However slow the machine, the first run is not over before the second was refused.
    depot.process.signal(SIGSTOP)
    let second = try bench.start(bench.runArguments())
    func outcome() throws -> String? {
      try JSON.parse(file(bench, "report.json"))["run"]["outcome"].string
    }
    while !bench.exists("once") {
      try #require(second.isAlive)
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(try first.isAlive && outcome() == "refused")
    depot.process.signal(SIGCONT)
    #expect(try await first.wait().status == 0)
    #expect(try outcome() == "completed")
    try Data().write(to: URL(fileURLWithPath: bench.job + "/go"))
    #expect(try await second.wait().status == 76)
    #expect(try outcome() == "completed")
  }

  /// A state that can't be read keeps nobody from knowing it: the report and the metrics say so.
  @Test func aDamagedStateIsReported() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a.bin", "b.bin"] { try bench.serve(name, size: 1000) }
    try bench.source("up.bin", size: 1000)
    let metrics = bench.scratch.path + "/haul.prom"
    #expect(try await bench.run(job(depot), ["--metrics", metrics]).status == 0)
    #expect(value(file(bench, "haul.prom"), "exit_code") == 0)
    try Data(repeating: 0x61, count: 100_000).write(
      to: URL(fileURLWithPath: bench.state + "/forms/plan.sqlite"))
    let run = try await bench.run(job(depot), ["--metrics", metrics])
    #expect(run.status == 73 && run.faults == "", "\(run.errors) \(run.faults)")
    #expect(run.report["run"]["outcome"].string == "failed" && run.report["run"]["exit_code"].int == 73)
    #expect(run.report["diagnostics"][0]["message"].string?.contains("plan.sqlite") == true)
    #expect(value(file(bench, "haul.prom"), "exit_code{job=\"forms\"}") == 73)
  }

  @Test func theLastSuccessOutlivesWhatFollows() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a.bin", "b.bin"] { try bench.serve(name, size: 1000) }
    try bench.source("up.bin", size: 1000)
    let metrics = bench.scratch.path + "/haul.prom"
    func run(_ yaml: String) async throws -> (Int32, String) {
      try bench.writeJob(yaml)
      try? FileManager.default.removeItem(atPath: metrics)
      let end = try await bench.haul([
        "run", "job.yaml", "--no-progress", "--metrics", metrics, "--events", metrics + ".events",
      ])
      return (end.status, file(bench, "haul.prom"))
    }
    let (status, good) = try await run(job(depot))
    let success = try #require(value(good, "last_success_timestamp_seconds"))
    #expect(status == 0 && success > 1_600_000_000 && success == value(good, "last_run_timestamp_seconds"))
    #expect(
      value(good, "verified_transfers") == 3
        && value(good, "transfers{job=\"forms\",state=\"completed\"}") == 3)
    // Metrics are not the report.
    let ended = try #require(JSON.lines(metrics + ".events").last)
    #expect(ended["event"].string == "run_ended" && ended["report"].string?.hasSuffix(".json") == true)
    let failing = job(depot, more: "  - { id: gone, download: \"depot:none\", to: in/none }")
    for (yaml, code) in [(failing, 1.0), (job(depot, more: "nokey: 1"), 65)] {
      let (status, bad) = try await run(yaml)
      #expect(Double(status) == code && value(bad, "exit_code") == code, "\(bad)")
      #expect(value(bad, "last_success_timestamp_seconds") == success)
      #expect(try #require(value(bad, "last_run_timestamp_seconds")) > success)
      #expect(value(bad, "transfers{job=\"forms\",state=\"up_to_date\"}") == 3)
    }
    #expect(try await bench.haul(["gc", "--keep", "1"]).status == 0)
    let kept = try await bench.haul(["report", "forms", "--format", "prometheus"])
    #expect(value(kept.output, "last_success_timestamp_seconds") == success, "\(kept.errors)")
  }
}
