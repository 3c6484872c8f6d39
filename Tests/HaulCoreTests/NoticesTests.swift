import Endpoints
import Foundation
import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

/// Who is told of a run that did not come to its first transfer, and by whom.
struct NoticesTests {
  private static let job = CoreFixture.job.replacing(
    "job: core",
    with: """
      job: core
      policies: { once: { retry: { attempts: 1 } } }
      defaults: { policy: once }
      on:
        failure: [ { command: [sh, -c, "echo $HAUL_RUN_EXIT_CODE >> told"] } ]
        end:
          - { ping: "http://127.0.0.1:1/p" }
          - { webhook: { url: "http://127.0.0.1:1/w" } }
          - { command: [id] }
      """)

  private func read(_ fixture: CoreFixture) throws -> Job {
    try #require(try fixture.manifest(Self.job).read(overrides: [:]).job)
  }

  /// A dead-man service would take the ping of a skipped run for the success of one.
  @Test func aSkippedRunSendsNoPing() throws {
    let notices = RunNotices(try read(CoreFixture()), run: "01A", startedAt: 0, report: nil)
    func kinds(_ isSkipped: Bool) -> [String] {
      notices.owed(
        run: nil, attempt: 0, .init(outcome: .refused, status: .success, isSkipped: isSkipped)
      ).map { "\($0.event) \($0.message.kind) \($0.key)" }
    }
    #expect(kinds(true) == ["end webhook 01A-0-end-2", "end command 01A-0-end-3"])
    #expect(
      kinds(false) == ["end ping 01A-0-end-1", "end webhook 01A-0-end-2", "end command 01A-0-end-3"])
  }

  private func owing(_ message: NoticeMessage, _ state: StateFolder) throws -> JobLedger {
    try state.make("core")
    let lock = try #require(try state.lock("core", waiting: false))
    defer { withExtendedLifetime(lock) {} }
    let ledger = try state.open("core", holding: lock)
    try ledger.owe([OwedNotice(key: "k", event: .end, message: message, policy: nil, owedAt: 4e9)], run: nil)
    return ledger
  }

  /// Who looks at a status does not wait for a command; one that is cut short is the next run's.
  @Test func aCommandThatTakesItsTimeStaysOwed() async throws {
    let fixture = try CoreFixture(["PATH": "/usr/bin:/bin"])
    let script = ["sh", "-c", "touch begun; sleep 300; touch ended"]
    let ledger = try owing(.command(script, variables: [:], folder: fixture.scratch.path), fixture.state)
    // A busy machine may not even begin it in time.
    for _ in 0..<20 where !FileManager.default.fileExists(atPath: fixture.scratch.path + "/begun") {
      await OwedNotices(try fixture.context(), patience: 6)
        .deliver(for: [JobState("core", in: fixture.state)])
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: fixture.scratch.path)
    #expect(files.contains("begun") && !files.contains("ended"))
    #expect(try ledger.owedNotices().map(\.key) == ["k"])
    #expect(try fixture.printed("errors").contains("sends it again"))
  }

  @Test func aCommandThatIsQuickIsDelivered() async throws {
    let fixture = try CoreFixture(["PATH": "/usr/bin:/bin"])
    let ledger = try owing(
      .command(["touch", "done"], variables: [:], folder: fixture.scratch.path), fixture.state)
    for _ in 0..<10 where try ledger.owesNotices {
      await OwedNotices(try fixture.context(), patience: 60)
        .deliver(for: [JobState("core", in: fixture.state)])
    }
    #expect(FileManager.default.fileExists(atPath: fixture.scratch.path + "/done"))
    #expect(try !ledger.owesNotices)
  }

  /// What is told of a job whose manifest is gone, or can't be read any more.
  @Test(arguments: [nil, "version: 1\njob: [core\n"] as [String?])
  func aKnownJobWithoutItsManifestIsTold(_ text: String?) async throws {
    let fixture = try CoreFixture(["PATH": "/usr/bin:/bin"])
    let file = try fixture.manifest(Self.job)
    _ = try JobOpening.open(file, RunSettings(), state: fixture.state, reports: fixture.reports())
    if let text {
      try fixture.scratch.write("job.yaml", text)
    } else {
      try FileManager.default.removeItem(atPath: file.path)
    }
    var settings = RunSettings()
    settings.reports = ["r.json", "m.prom"].map { ReportTarget(fixture.scratch.path + "/" + $0) }
    let run = JobRun(settings, state: fixture.state, context: try fixture.context())
    let end = await #expect(throws: End.self) {
      try await run.run(file.path, root: nil, StopController(), interrupter: { "SIGTERM" })
    }
    let status = text == nil ? 66 : 65
    #expect(end?.status.rawValue == Int32(status))
    #expect(try fixture.printed("told") == "\(status)\n")
    let report = try #require(JobModel.JSON(Array(try fixture.printed("r.json").utf8)))
    #expect(report["run"]["exit_code"].int64 == Int64(status))
    #expect(report["notices"].array?.compactMap { $0["on"].string } == ["failure", "end", "end", "end"])
    #expect((report["job"]["manifest_sha256"].string == nil) == (text == nil))
    #expect(try fixture.printed("m.prom").contains("haul_job_exit_code{job=\"core\"} \(status)\n"))
  }

  /// A path that the state does not know tells nobody, and leaves nothing but the report.
  @Test func anUnknownManifestIsReportedAlone() async throws {
    let fixture = try CoreFixture()
    var settings = RunSettings()
    settings.reports = [ReportTarget(fixture.scratch.path + "/r.json")]
    let run = JobRun(settings, state: fixture.state, context: try fixture.context())
    let end = await #expect(throws: End.self) {
      try await run.run(fixture.scratch.path + "/none.yaml", root: nil, StopController(), interrupter: { "" })
    }
    #expect(end?.status == .noInput && fixture.state.jobs.isEmpty)
    let report = try #require(JobModel.JSON(Array(try fixture.printed("r.json").utf8)))
    #expect(report["run"]["outcome"].string == "failed" && (report["notices"].array ?? []).isEmpty)
  }
}
