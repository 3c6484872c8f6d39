import JobLedger
import JobModel
import Reporting
import TransferEngine

struct ProgressLoop {
  init(job: String, ledger: JobLedger, board: LiveBoard, isQuiet: Bool, events: EventLog?) {}
  func start() {}
  func end() {}
}
final class EventLog: Sendable {
  static func open(path: String, run: String, attempt: Int) throws -> EventLog { EventLog() }
  func record(_ event: EngineEvent) {}
  func diagnostic(_ d: Diagnostic) {}
  func runStarted(job: String, number: Int) {}
  func planCompiled(_ change: PlanChange, transfers: Int) {}
  func runEnded(outcome: RunOutcome, exitCode: Int32, report: String) {}
  func close() throws {}
}
enum CheckReport { static func json(_ p: String, transfers: Int?, _ d: [Diagnostic]) -> String { "" } }
extension Job {
  var largestConnectionTotal: Int { 16 }
  var largestConnectionsPerHost: Int { 8 }
}
