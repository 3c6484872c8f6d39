import HTTPClient
import JobLedger
import JobManifest
import JobModel
import Locks
import Testing
import TestSupport
import Transfers

@testable import HaulCore

struct LogCausesTests {
  private let cause = Cause(code: "NOT_FOUND", host: "a", message: "gone")

  @Test func theFirstIsSaidAndTheOthersCounted() {
    let causes = LogCauses()
    #expect(causes.note(.failure, cause, id: "one", now: 0))
    #expect(!causes.note(.failure, cause, id: "two", now: 1))
    #expect(!causes.note(.failure, cause, id: "two", now: 2))
    #expect(causes.note(.retry, cause, id: "two", now: 2))
    #expect(causes.due(now: 29, isLast: false).isEmpty)
    let due = causes.due(now: 30, isLast: false)
    #expect(due.map(\.count) == [2] && due.map(\.ids) == [["two"]])
    #expect(causes.due(now: 100, isLast: true).isEmpty)
  }

  @Test func theRestIsSaidAtTheEnd() {
    let causes = LogCauses()
    _ = causes.note(.warning, cause, id: "one", now: 0)
    _ = causes.note(.warning, cause, id: "two", now: 0)
    #expect(causes.due(now: 1, isLast: true).map(\.count) == [1])
  }

  /// `journalctl -p warning` shows what is a warning in the report.
  @Test(arguments: [
    (Diagnostic.Severity.error, "<3>"), (.warning, "<4>"), (.note, "<6>"),
  ])
  func diagnosticsAreLoggedAtTheirSeverity(_ severity: Diagnostic.Severity, _ priority: String) {
    let lines = Locked<[String]>([])
    var settings = LogSettings()
    (settings.level, settings.format) = (.debug, .journal)
    let log = RunLog(settings) { line in lines.withLock { $0.append(line) } }
    for id in ["a", "b"] {
      var diagnostic = Diagnostic(severity, "comes as one stream")
      diagnostic.subject = id
      log.record(.diagnostic(diagnostic))
    }
    log.record(.diagnostic(Diagnostic(severity, "the job's own")))
    log.tick(now: 0, isLast: true)
    let written = lines.withLock { $0 }
    #expect(written.count == 3 && written.allSatisfy { $0.hasPrefix(priority) }, "\(written)")
    #expect(written.last?.contains("1 more: comes as one stream: b") == true, "\(written)")
  }

  /// A hold that a warning tells of, too, is one line.
  @Test(arguments: [(TransferState.PauseReason.window, 1), (.budget, 1), (.interface, 0), (.metered, 0)])
  func holdsAreSaidOnce(_ reason: TransferState.PauseReason, _ count: Int) {
    let lines = Locked<[String]>([])
    let log = RunLog(LogSettings()) { line in lines.withLock { $0.append(line) } }
    log.record(.held(by: "office", Hold(reason, until: nil)))
    #expect(lines.withLock { $0.count } == count)
    // Each of these has such a message.
    let network = NetworkState(isUp: { _ in false }, isMetered: { true }, isThere: { true })
    #expect((network.message(reason, EffectivePolicy()) == nil) == (count == 1))
  }
}
