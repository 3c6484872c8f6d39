package import JobLedger
package import JobModel
package import Transfers

/// What an events file tells of.
package enum RunEvent: Sendable {
  case runStarted(job: String, number: Int, manifest: String?, manifestSHA256: String?)
  case planCompiled(PlanChange, transfers: Int)
  case engine(EngineEvent)
  /// `rate` is bytes a second.
  case progress(StateCounts, TransferSums, rate: Double?)
  case diagnostic(RecordedDiagnostic)
  /// `report` is the path of the report, nil where none was written.
  case runEnded(RunOutcome, exitCode: Int32, report: String?)
}
