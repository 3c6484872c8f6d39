import Foundation
import TestSupport
import Testing

/// What an operator reads: quiet on success, one line a cause, JSON in every line where it was asked for.
@Suite(.turns)
struct OperatorTests {
  private static func many(_ url: String, _ count: Int) -> String {
    let rows = (0..<count).map { "  - { id: in/f\($0), download: \"\(url)/f\($0).bin\", to: f\($0).bin }" }
    return """
      version: 1
      job: many
      policies: { quick: { retry: { attempts: 2, initial: 10ms, max: 10ms } } }
      defaults: { policy: quick }
      transfers:
      \(rows.joined(separator: "\n"))
      """
  }

  private func lines(_ end: Finished) -> [String] {
    end.errors.split(separator: "\n").map(String.init)
  }

  @Test func quietOnSuccessAndTheSummaryOnFailure() async throws {
    let bench = try Bench()
    let quirks = try await QuirkServer(bench)
    try bench.serve("a.bin", size: 10)
    let yaml = """
      version: 1
      job: nightly
      transfers:
        - { id: a, download: "\(quirks.url)/plain/a.bin", to: a.bin }
        - { id: b, download: "\(quirks.url)/plain/b.bin", to: b.bin }
      """
    try bench.writeJob(yaml)
    let failing = try await bench.haul(["run", "job.yaml", "--quiet"])
    #expect(failing.status == 1 && failing.output.isEmpty)
    #expect(failing.errors.contains("nightly: failed") && failing.errors.contains("NOT_FOUND"))
    // Nothing before the summary, which says when it was.
    let head = try #require(lines(failing).first)
    #expect(head.contains(#/^20\d\d-\d\d-\d\dT[0-9:.]+Z nightly: failed/#), "\(failing.errors)")
    try bench.serve("b.bin", size: 10)
    let ended = try await bench.haul(["run", "job.yaml", "--quiet"])
    #expect(ended.status == 0 && ended.errors.isEmpty && ended.output.isEmpty, "\(ended.errors)")
    for command in [["check", "job.yaml"], ["pause", "nightly"], ["resume", "nightly"]] {
      let end = try await bench.haul(command + ["--quiet"])
      #expect(end.status == 0 && end.errors.isEmpty, "\(end.errors)")
    }
  }

  @Test func skippedQuietly() async throws {
    let bench = try Bench()
    let port = try await bench.blackHole("127.0.0.1")
    try bench.writeJob(Self.many("http://127.0.0.1:\(port)", 1))
    let first = try bench.start(["run", "job.yaml"])
    while !(first.errors.contains("started")) {
      try #require(first.isAlive)
      try await Task.sleep(for: .milliseconds(20))
    }
    let skipped = try await bench.haul(["run", "job.yaml", "--if-running", "skip", "--quiet"])
    #expect(skipped.status == 0 && skipped.errors.isEmpty && skipped.output.isEmpty, "\(skipped.errors)")
    let refused = try await bench.haul(["run", "job.yaml", "--quiet"])
    #expect(refused.status == 76 && refused.errors.contains("is running already"))
  }

  @Test func oneCauseIsOneLine() async throws {
    let bench = try Bench()
    let quirks = try await QuirkServer(bench)
    let run = try await bench.run(Self.many(quirks.url + "/plain", 200))
    #expect(run.totals["failed"].int == 200 && run.faults == "", "\(run.errors)")
    let causes = run.report["causes"].array
    #expect(causes.count == 1 && causes.first?["count"].int == 200, "\(causes)")
    #expect(causes.first?["code"].string == "NOT_FOUND" && causes.first?["ids"].array.count == 3)
    #expect(causes.first?["host"].string.map { quirks.url == "http://" + $0 } == true)
    #expect(run.errors.contains("failed 200 transfers: NOT_FOUND"), "\(run.errors)")
    #expect(run.errors.contains(" and 197 more"))
    #expect(lines(run.end).count < 16, "\(run.errors)")
    // Tries again are one cause, too.
    let down = try await bench.run(Self.many(quirks.url + "/status/500", 60), ["--new-run"])
    #expect(down.report["causes"].array.count == 1 && lines(down.end).count < 18, "\(down.errors)")
    let report = try await bench.haul(["report", "many"])
    #expect(report.output.contains("60 transfers") && lines(report).count < 16, "\(report.output)")
  }

  @Test func warningsAreOnePerCause() async throws {
    let bench = try Bench()
    let quirks = try await QuirkServer(bench)
    for index in 0..<30 { try bench.serve("f\(index).bin", size: 200_000) }
    let yaml = Self.many(quirks.url + "/norange", 30)
    // A file of one chunk loses nothing where ranges are ignored.
    let run = try await bench.run(yaml)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(!run.errors.contains("one stream") && !run.remarks.contains("one stream"), "\(run.remarks)")
    // What is worth a warning is said once, with how many there are.
    let small = yaml.replacing(
      "{ policy: quick }", with: "{ policy: quick, refresh: always, chunk_size: 64KiB }")
    let warned = try await bench.run(small)
    let told = warned.report["diagnostics"].array.compactMap { $0["message"].string }.filter {
      $0.contains("one stream")
    }
    #expect(told.count == 1 && told.first?.hasPrefix("30 transfers: ") == true, "\(warned.remarks)")
    #expect(told.first?.hasSuffix(" and 27 more)") == true && warned.faults == "", "\(told)")
  }

  @Test func everyLineIsJSON() async throws {
    let bench = try Bench()
    let quirks = try await QuirkServer(bench)
    let yaml = Self.many(quirks.url + "/plain", 3)
    for (options, status) in [
      (["run", "job.yaml"], 1), (["check", "none.yaml"], 66), (["run", "job.yaml", "--nonsense"], 64),
      (["check", "bad.yaml"], 65), (["pause", "many"], 0), (["rnu"], 64), (["status", "nobody"], 66),
    ] as [([String], Int32)] {
      try bench.writeJob(yaml)
      try bench.writeJob(yaml.replacing("job: many", with: "job: many\nnonsense: 1"), as: "bad.yaml")
      let end = try await bench.haul(options + ["--log-format", "json"])
      #expect(end.status == status, "\(options): \(end.errors)")
      #expect(!end.errors.isEmpty, "\(options)")
      for line in lines(end) {
        let json = try? JSON.parse(line)
        #expect(json?["at"].string != nil && json?["level"].string != nil, "\(options): \(line)")
        #expect(json?["message"].string?.isEmpty == false, "\(line)")
      }
    }
    try bench.writeJob(yaml)
    let run = try await bench.haul(["run", "job.yaml", "--log-format=json"])
    let last = try JSON.parse(try #require(lines(run).last))
    #expect(last["outcome"].string == "failed" && last["totals"]["failed"].int == 3, "\(run.errors)")
    #expect(last["causes"].array.count == 1 && last["exit_code"].int == 1)
  }

  @Test func wordsThatWereMeantOtherwise() async throws {
    let bench = try Bench()
    try bench.writeJob(Self.many("http://127.0.0.1:1", 1).replacing("in/f0", with: "big3/a"))
    for (arguments, hint) in [
      (["run", "job.yaml", "--dry-run"], "haul plan"), (["rnu", "job.yaml"], "did you mean `run`?"),
      (["job.yaml"], "haul run job.yaml"),
    ] {
      let end = try await bench.haul(arguments)
      #expect(end.status == 64 && end.errors.contains(hint), "\(end.errors)")
    }
    #expect(try await bench.run().status == 75)
    let glob = try await bench.haul(["pause", "many", "big3*"])
    #expect(glob.status == 66 && glob.errors.contains("`*` ends at `/`"), "\(glob.errors)")
    #expect(try await bench.haul(["pause", "many"]).status == 0)
    let paused = try await bench.run()
    #expect(paused.status == 75 && paused.errors.contains("haul resume many"), "\(paused.errors)")
    #expect(!paused.errors.contains("run the same command again"), "\(paused.errors)")
  }
}
