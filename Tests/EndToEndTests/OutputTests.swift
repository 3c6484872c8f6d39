import Foundation
import TestSupport
import Testing

/// What commands put out: all of it or an exit code that says so, nothing that a terminal obeys, no secret.
@Suite(.turns)
struct OutputTests {
  private func bench(_ name: String, more: String = "") async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 100_000)
    try bench.writeJob(
      """
      version: 1
      job: \(name)
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }
      \(more)
      """)
    return (bench, depot)
  }

  /// haul with its standard output on a device that is always full, or otherwise redirected.
  private func full(_ bench: Bench, _ arguments: [String], _ redirection: String = "> /dev/full") async throws
    -> Finished
  {
    let running = try Running(
      "/bin/sh",
      ["-c", "exec \"$@\" \(redirection)", "sh", Programs.haul] + arguments + ["--state-dir", bench.state],
      environment: bench.environment(), folder: bench.job, scratch: bench.scratch.path)
    return try await running.wait()
  }

  @Test func standardOutputIsFull() async throws {
    let (bench, _) = try await bench("full")
    for command in [
      ["check", "job.yaml"], ["check", "job.yaml", "--json"], ["plan", "job.yaml"],
      ["plan", "job.yaml", "--json"], ["run", "job.yaml", "--no-progress", "--report", "-"],
      ["run", "job.yaml", "--no-progress", "--json"], ["status"], ["status", "full", "--json"],
      ["report", "full"], ["report", "full", "--json"], ["history", "full"], ["gc"], ["gc", "--help"],
    ] {
      let end = try await full(bench, command)
      #expect(end.status == 73, "\(command): \(end.errors)")
      #expect(end.errors.contains("standard output"), "\(command): \(end.errors)")
      let isSummedUp = command[0] != "run" || end.errors.contains("exit code 73")
      #expect(isSummedUp, "\(command): \(end.errors)")
    }
    // The work itself was done, and is on record.
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(try await bench.haul(["history", "full"]).status == 0)
  }

  /// A path that is no text is never taken for the one that it would be repaired to.
  @Test func pathsOfOtherEncodings() async throws {
    let (bench, _) = try await bench("latin")
    let folder = "$(printf 'm\\374')"
    for script in [
      "mkdir \(folder); cp job.yaml \(folder); cd \(folder); \"$0\" run job.yaml --state-dir \(bench.state)",
      "\"$0\" run job.yaml --report $(printf 'r\\377.json') --state-dir \(bench.state)",
      "\"$0\" run job.yaml --state-dir $(printf 's\\377')",
    ] {
      let text = "here=$PWD; \(script); code=$?; cd \"$here\"; rm -rf \(folder); exit $code"
      let end = try await Running(
        "/bin/sh", ["-c", text, Programs.haul], environment: bench.environment(), folder: bench.job,
        scratch: bench.scratch.path
      ).wait()
      #expect(end.status == 64 && end.errors.contains("is not UTF-8"), "\(script): \(end.errors)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.state) == [])
    #expect(!bench.exists("a.bin"))
  }

  /// What is printed goes nowhere then, least of all into what haul has opened in its place.
  @Test func standardDescriptorsAreClosed() async throws {
    let (bench, _) = try await bench("closed")
    let run = try await full(bench, ["run", "job.yaml"], "<&- >&- 2>&-")
    #expect(try run.status == 0 && bench.isSame("a.bin", "a.bin"))
    for command in [["status"], ["history", "closed"], ["gc"]] {
      let end = try await full(bench, command, "<&- >&-")
      #expect(end.status == 73 && end.errors.contains("Bad file descriptor"), "\(command): \(end.errors)")
    }
  }

  /// Of nothing the machine output is an empty list, and `--quiet` nothing at all.
  @Test func nothingToTell() async throws {
    let (bench, _) = try await bench("nothing")
    let status = try await bench.haul(["status", "--json"])
    #expect(try status.status == 0 && JSON.parse(status.output).array.isEmpty, "\(status.output)")
    #expect(status.output.hasPrefix("["))
    for command in [["check", "job.yaml"], ["gc"], ["run", "job.yaml"], ["gc", "nothing"]] {
      let end = try await bench.haul(command + ["--quiet"])
      #expect(end.status == 0 && (end.output + end.errors).isEmpty, "\(command): \(end.output)\(end.errors)")
    }
    #expect(try await bench.haul(["gc", "--dry-run", "--quiet"]).output == "nothing to remove\n")
  }

  @Test func commonOptionsMayComeFirst() async throws {
    let (bench, _) = try await bench("first")
    let check = try await bench.haul(["--json", "--log-format", "json", "check", "job.yaml"])
    #expect(try check.status == 0 && JSON.parse(check.output)["ok"].bool == true, "\(check.errors)")
    let unknown = try await bench.haul(["--quiet", "chek", "job.yaml"])
    #expect(unknown.status == 64 && unknown.errors.contains("did you mean `check`?"), "\(unknown.errors)")
    #expect(try await bench.haul(["completions", "bash", "--quiet"]).status == 0)
  }

  /// A report that can't be written is known before anything moves; one that fails at the end hides no summary.
  @Test func reportCannotBeWritten() async throws {
    let (bench, _) = try await bench("report")
    let folder = try await bench.haul(["run", "job.yaml", "--no-progress", "--report", bench.scratch.path])
    #expect(folder.status == 73 && folder.errors.contains("folder"), "\(folder.errors)")
    #expect(!bench.exists("a.bin"))
    for option in ["--report", "--metrics", "--events"] {
      #expect(try await bench.haul(["run", "job.yaml", "--no-progress", option, ""]).status == 73)
      #expect(!bench.exists("a.bin"), "\(option)")
    }
    let late = try await bench.haul(["run", "job.yaml", "--no-progress", "--report", "/dev/full"])
    #expect(late.status == 73 && late.errors.contains("1 transfer: 1 completed"), "\(late.errors)")
    #expect(late.errors.contains("make room"), "\(late.errors)")
  }

  /// One job's state is damaged: the others are shown and cleared all the same, and the exit code says so.
  @Test func oneOfTheJobsIsDamaged() async throws {
    let (bench, _) = try await bench("aa-good")
    for name in ["damaged", "zz-good"] {
      #expect(try await bench.haul(["run", "job.yaml", "--no-progress"]).status == 0)
      let text = try String(contentsOfFile: bench.job + "/job.yaml", encoding: .utf8)
      try bench.writeJob(text.replacing(/job: [a-z-]+/, with: "job: \(name)"))
    }
    for _ in 0..<2 { #expect(try await bench.haul(["run", "job.yaml", "--no-progress"]).status == 0) }
    _ = try Sums.shell("truncate -s 4000 plan.sqlite; rm -f plan.sqlite-wal", in: bench.state + "/damaged")
    let text = try await bench.haul(["status"])
    #expect(text.status == 73 && text.errors.contains("damaged"), "\(text.errors)")
    #expect(text.output.contains("aa-good") && text.output.contains("zz-good"), "\(text.output)")
    let json = try await bench.haul(["status", "--json"])
    #expect(json.status == 73)
    let jobs = try JSON.parse(json.output).array
    #expect(jobs.map { $0["job"]["name"].string } == ["aa-good", "damaged", "zz-good"])
    #expect(jobs[1]["diagnostics"][0]["message"].string?.contains("plan.sqlite") == true)
    let parts = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]] ?? []
    for (index, job) in parts.enumerated() {
      let text = String(decoding: try JSONSerialization.data(withJSONObject: job), as: UTF8.self)
      let file = try bench.scratch.write("job-\(index).json", text)
      #expect(try await Schema.faults(of: file, name: "report") == "")
    }
    let gc = try await bench.haul(["gc", "--keep", "1", "--json"])
    #expect(gc.status == 73, "\(gc.errors)")
    let cleared = try JSON.parse(gc.output)
    #expect(cleared["items"].array.map { $0["job"].string } == ["zz-good"])
    #expect(cleared["errors"].array.map { $0["job"].string } == ["damaged"])
    let reports = try FileManager.default.contentsOfDirectory(atPath: bench.state + "/zz-good/reports")
    #expect(reports.count == 1)
    // The plan is gone, and not what lies beside it.
    _ = try Sums.shell("rm plan.sqlite*", in: bench.state + "/damaged")
    for command in [
      ["status"], ["status", "damaged"], ["history", "damaged"], ["pause", "damaged"], ["gc"],
    ] {
      let end = try await bench.haul(command)
      #expect(end.status == 73 && end.errors.contains("it is gone"), "\(command): \(end.errors)")
    }
  }

  @Test func checkShowsNothingHarmful() async throws {
    let bench = try Bench()
    try Data("url,to\n\u{1b}[31mred,\u{1b}]0;x\u{7}\n".utf8).write(
      to: URL(fileURLWithPath: bench.job + "/rows.csv"))
    try bench.writeJob(
      """
      version: 1
      job: shown
      endpoints:
        a: { type: http, url: "http://u:PASSWORDx@h/", auth: { bearer: LITSECRETa } }
      transfers:
        - { id: r, for_each: { csv: rows.csv }, download: "${each.url}", to: "${each.to}" }
        - { id: s, download: "https://h/x?sig=SIGNEDx", to: s, nokey: "\\e[31m" }

      """)
    for command in ["check", "plan", "run"] {
      let end = try await bench.haul([command, "job.yaml"])
      #expect(end.status == 65, "\(end.errors)")
      #expect(!end.errors.contains { $0 == "\u{1b}" || $0 == "\u{7}" }, "\(command)")
      #expect(end.errors.contains("\\x1b"), "\(end.errors)")
      for secret in ["PASSWORDx", "LITSECRETa", "SIGNEDx"] {
        #expect(!end.errors.contains(secret), "\(command): \(end.errors)")
      }
      #expect(end.errors.contains("job.yaml:7:58"), "\(end.errors)")
    }
    let json = try await bench.haul(["plan", "job.yaml", "--json"])
    #expect(json.status == 65)
    let file = try bench.scratch.write("plan.json", json.output)
    #expect(try await Schema.faults(of: file, name: "plan") == "")
    #expect(try JSON.parse(json.output)["diagnostics"].array.count >= 3)
  }

  /// `plan` says what `run` does: of a file that is kept, one never fetched again, one whose server tells no version.
  @Test func planSaysWhatRunDoes() async throws {
    let bench = try Bench()
    let quirks = try await QuirkServer(bench)
    for name in ["never", "keep", "plain"] { try bench.serve(name, size: 1000) }
    try bench.writeJob(
      """
      version: 1
      job: says
      defaults: { policy: { retry: { attempts: 1 } } }
      transfers:
        - { id: never, download: "\(quirks.url)/plain/never", to: never, refresh: never }
        - { id: keep, download: "\(quirks.url)/plain/keep", to: keep, if_exists: keep }
        - { id: plain, download: "\(quirks.url)/chunked/plain", to: plain }
        - { id: empty, download: "\(quirks.url)/status/204/x", to: empty }

      """)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: bench.job + "/keep"))
    func plan() async throws -> [String: JSON] {
      let end = try await bench.haul(["plan", "job.yaml", "--json"])
      return Dictionary(
        try JSON.parse(end.output)["transfers"].array.map { ($0["id"].string ?? "", $0) }
      ) { $1 }
    }
    let before = try await plan()
    #expect(before["keep"]?["action"].string == "skip" && before["keep"]?["reason"].string == "exists")
    let first = try await bench.run()
    #expect(first.state("keep") == "skipped exists" && first.state("plain") == "completed")
    #expect(first["empty"]["state"].string == "failed" && first["empty"]["last_http_status"].int == 204)
    try Data("edited".utf8).write(to: URL(fileURLWithPath: bench.job + "/never"))
    let again = try await plan()
    #expect(again["never"]?["action"].string == "up_to_date")
    #expect(again["plain"]?["action"].string == "transfer")
    #expect(again["plain"]?["reason"].string?.contains("no version") == true)
    let second = try await bench.run()
    #expect(second.state("never") == "up_to_date" && second.state("plain") == "completed")
    #expect(second.remarks.contains("tells no version"), "\(second.remarks)")
  }
}
