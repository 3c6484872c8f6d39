import Foundation
import TestSupport
import Testing

/// What `packaging/` holds, by the tools that own it where they are installed.
@Suite(.turns)
struct PackagingTests {
  private static let packaging = Programs.root + "/packaging"

  private func run(_ bench: Bench, _ program: String, _ arguments: [String]) async throws -> Finished {
    try await Running(
      program, arguments, environment: bench.environment(), folder: bench.job, scratch: bench.scratch.path
    ).wait()
  }

  /// systemd reads the units without a complaint, and finds little that they may do.
  @Test(.enabled(if: Programs.find("systemd-analyze") != nil, "systemd is not installed"))
  func systemdReadsTheUnits() async throws {
    let bench = try Bench()
    for name in ["haul@.service", "haul@.timer", "haul-failed@.service"] {
      let text = try String(contentsOfFile: Self.packaging + "/systemd/" + name, encoding: .utf8)
        .replacing("/usr/bin/haul", with: Programs.haul)
      try bench.writeJob(text, as: name)
      try bench.writeJob(text, as: name.replacing("@", with: "@nightly"))
    }
    let analyze = try #require(Programs.find("systemd-analyze"))
    let units = ["haul@nightly.service", "haul@nightly.timer", "haul-failed@nightly.service"]
    let verify = try await run(
      bench, analyze, ["verify", "--man=no", "--recursive-errors=one"] + units.map { "./" + $0 })
    #expect(verify.status == 0 && verify.errors == "", "\(verify.errors)")
    // Tenths: 1.6 of 10, for what uses the network; more is a unit that has lost a line.
    let security = try await run(
      bench, analyze,
      ["security", "--offline=true", "--no-pager", "--threshold=20", "./haul@nightly.service"])
    #expect(security.status == 0, "\(security.output)")
  }

  /// The unit's command line is understood (66, not 64), and what it says has the journal's priorities.
  @Test func theUnitRunsHaul() async throws {
    let bench = try Bench()
    let unit = try String(contentsOfFile: Self.packaging + "/systemd/haul@.service", encoding: .utf8)
    let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=/usr/bin/haul ") })
    let words = line.split(separator: " ").dropFirst().map { String($0).replacing("%i", with: "not-there") }
    let end = try await bench.haul(words)
    #expect(end.status == 66 && end.errors.hasPrefix("<3>"), "\(end.errors)")
  }

  /// The manifest of the CronJob is valid, its command line is understood, and each exit code has one rule.
  @Test func theCronJobIsHauls() async throws {
    let bench = try Bench()
    let script = """
      import json, sys, yaml
      parts = {(part["kind"], part["metadata"]["name"]): part for part in yaml.safe_load_all(open(sys.argv[1]))}
      job = parts["CronJob", "haul-nightly"]["spec"]["jobTemplate"]["spec"]
      rules = [code for rule in job["podFailurePolicy"]["rules"] for code in rule.get("onExitCodes", {}).get("values", [])]
      assert job["template"]["spec"]["restartPolicy"] == "Never"
      print(json.dumps({"manifest": parts["ConfigMap", "haul-nightly"]["data"]["nightly.yaml"], "codes": rules,
        "arguments": job["template"]["spec"]["containers"][0]["args"]}))
      """
    let found = try JSON.parse(
      try await Venv.run(script, [Self.packaging + "/kubernetes/cronjob.yaml"]))
    try bench.writeJob(found["manifest"].string ?? "", as: "nightly.yaml")
    let check = try await bench.haul(["check", "nightly.yaml"])
    #expect(check.status == 0, "\(check.errors)")
    let arguments = found["arguments"].array.compactMap(\.string)
    #expect(arguments.prefix(2) == ["run", "/etc/haul/nightly.yaml"])
    // Understood, and then without the secret's variable: 66, not 64.
    let end = try await bench.haul(["run", "nightly.yaml"] + arguments.dropFirst(2))
    #expect(end.status == 66, "\(end.errors)")
    let help = try await bench.haul(["--help"]).output.replacing("\n", with: " ")
    let told = help.matches(of: /(?:codes:|;)\s+(\d+)\s/).compactMap { Int64($0.1) }
    #expect(told.count == 10 && found["codes"].array.compactMap(\.int).sorted() == told.filter { $0 != 0 })
  }

  /// The manifest of the Indexed Job is valid, its command lines are understood, each exit code has one rule, and both
  /// numbers of parts are one.
  @Test func theIndexedJobIsHauls() async throws {
    let bench = try Bench()
    let script = """
      import json, sys, yaml
      parts = {(part["kind"], part["metadata"]["name"]): part for part in yaml.safe_load_all(open(sys.argv[1]))}
      job = parts["Job", "haul-fleet"]["spec"]
      pod = job["template"]["spec"]
      merge = parts["Job", "haul-fleet-merge"]["spec"]
      assert job["completionMode"] == "Indexed" and pod["restartPolicy"] == "Never" and merge["suspend"] is True
      container = pod["containers"][0]
      rules = [code for rule in job["podFailurePolicy"]["rules"] for code in rule.get("onExitCodes", {}).get("values", [])]
      environment = {variable["name"]: variable.get("value") for variable in container["env"]}
      assert environment["HAUL_SHARDS"] == str(job["completions"]) and job["parallelism"] <= job["completions"]
      mounts = {mount["name"] for mount in container["volumeMounts"]}
      assert mounts == {volume["name"] for volume in pod["volumes"]}
      field = lambda container: [variable["valueFrom"]["fieldRef"]["fieldPath"] for variable in container["env"] if variable["name"] == "FLEET"]
      assert field(container) == ["metadata.labels['batch.kubernetes.io/controller-uid']"]
      assert field(merge["template"]["spec"]["containers"][0]) == ["metadata.annotations['fleet']"]
      assert container["command"] == ["sh", "-c"] == merge["template"]["spec"]["containers"][0]["command"]
      print(json.dumps({"data": parts["ConfigMap", "haul-fleet"]["data"], "codes": rules,
        "run": container["args"][0], "merge": merge["template"]["spec"]["containers"][0]["args"][0]}))
      """
    let found = try JSON.parse(
      try await Venv.run(script, [Self.packaging + "/kubernetes/indexed-job.yaml"]))
    for name in ["fleet.yaml", "files.csv"] { try bench.writeJob(found["data"][name].string ?? "", as: name) }
    let check = try await bench.haul(["check", "fleet.yaml"])
    #expect(check.status == 0, "\(check.errors)")
    func shell(
      _ line: String?, index: Int = 0, fleet: String = "first", _ program: String = Programs.haul
    ) async throws -> Finished {
      let text = (line ?? "").replacing("haul ", with: program + " ", maxReplacements: 1)
        .replacing("/etc/haul", with: bench.job).replacing("/reports", with: bench.job)
      return try await Running(
        "/bin/sh", ["-c", text],
        environment: bench.environment(
          [
            "JOB_COMPLETION_INDEX": String(index), "HAUL_SHARDS": "16", "HAUL_STATE_DIR": bench.state,
            "FLEET": fleet,
          ]),
        folder: bench.job, scratch: bench.scratch.path
      ).wait()
    }
    // Understood, and then without the secrets' variables: 66, not 64; and no reports yet.
    var refused = 0
    for index in 0..<16 {
      let run = try await shell(found["run"].string, index: index)
      // A part without transfers needs no secret.
      #expect([0, 66].contains(run.status) && bench.exists("first/shard-\(index).json"), "\(run.errors)")
      if run.status == 66 { refused += 1 }
    }
    #expect(refused > 0)
    let merge = try await shell(found["merge"].string)
    #expect(merge.status == 65 && merge.errors.contains("never began"), "\(merge.errors)")
    // What an earlier fleet left does not stand for a part that ends without a report, or never starts.
    _ = try await shell(found["run"].string, fleet: "second", "/bin/false")
    #expect(bench.exists("second") && !bench.exists("second/shard-0.json"))
    #expect(try await shell(found["merge"].string, fleet: "second").status == 66)
    #expect(try await shell(found["merge"].string, fleet: "").status == 66)
    let help = try await bench.haul(["--help"]).output.replacing("\n", with: " ")
    let told = help.matches(of: /(?:codes:|;)\s+(\d+)\s/).compactMap { Int64($0.1) }
    #expect(found["codes"].array.compactMap(\.int).sorted() == told.filter { $0 != 0 })
  }

  /// Of several `--for`, `kubectl wait` takes the last one alone, or waits for all of them.
  @Test func theIndexedJobIsWaitedForHoweverItEnds() async throws {
    let bench = try Bench()
    let path = Self.packaging + "/kubernetes/indexed-job.yaml"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(!text.contains("--for"))
    let match = try #require(text.firstMatch(of: /grep -qwE '[A-Za-z|]+'/))
    for (told, status) in [
      ("SuccessCriteriaMet Complete", 0), ("FailureTarget Failed", 0), ("", 1), ("FailureTarget", 1),
      ("Suspended", 1),
    ] {
      let end = try await run(bench, "/bin/sh", ["-c", "echo \"$0\" | \(match.0)", told])
      #expect(end.status == status, "\(told)")
    }
  }

  /// The scripts for Slurm are shell, and treat each exit code.
  @Test func slurmScriptsAreShell() async throws {
    let bench = try Bench()
    for name in ["submit", "haul-array.sh", "haul-merge.sh"] {
      let path = Self.packaging + "/slurm/" + name
      let end = try await run(bench, "/bin/sh", ["-n", path])
      #expect(end.status == 0 && end.errors == "", "\(end.errors)")
      #expect(access(path, X_OK) == 0)
    }
    let text = try String(contentsOfFile: Self.packaging + "/slurm/haul-array.sh", encoding: .utf8)
    #expect(text.contains("0 | 1 | 64 | 65 | 66 | 70 | 73)"))
  }

  /// The manifest's path is the one that was given, and nothing of the fleet before is left.
  @Test func aFleetForSlurmStartsAnew() async throws {
    let bench = try Bench()
    let script = """
      mkdir -p bin real reports && ln -s real current
      touch real/job.yaml reports/report.json reports/shard-3.json
      printf '#!/bin/sh\\necho "$@" >>calls\\necho 1\\n' >bin/sbatch && chmod +x bin/sbatch
      PATH="$PWD/bin:$PATH" "$0" 2 2 current/job.yaml reports && cat calls && ls -A reports
      """
    let end = try await run(bench, "/bin/sh", ["-c", script, Self.packaging + "/slurm/submit"])
    #expect(end.status == 0, "\(end.errors)")
    #expect(end.output.contains("/current/job.yaml "), "\(end.output)")
    #expect(!end.output.contains("report.json") && !end.output.contains("shard-3"), "\(end.output)")
  }

  /// The man page names each command and its options, and roff takes it without a complaint.
  @Test(arguments: ["haul", "depot"])
  func manPages(_ name: String) async throws {
    let bench = try Bench()
    let program = Programs.haul.replacing(/[^\/]+$/, with: name)
    let page = try await run(bench, Programs.python, [Programs.root + "/Scripts/manual", program])
    #expect(page.status == 0, "\(page.errors)")
    let file = try bench.scratch.write(name + ".1", page.output)
    let words =
      name == "haul"
      ? ["run", "completions", "\\-\\-if\\-running", "EXIT STATUS", "\\fIwarn|strict\\fR"] : ["\\-\\-listen"]
    for word in words { #expect(page.output.contains(word)) }
    for (tool, arguments) in [
      ("mandoc", ["-Tlint", "-Wwarning"]), ("groff", ["-man", "-ww", "-z", "-Kutf8"]),
    ] {
      guard let path = Programs.find(tool) else { continue }
      let end = try await run(bench, path, arguments + [file])
      #expect(end.status == 0 && end.errors == "" && end.output == "", "\(end.errors)\(end.output)")
    }
  }
}
