package import JobLedger
package import JobModel
import Reporting

/// How a command ends other than well.
package struct End: Error {
  package var status: ExitStatus
  package var message: String?
  package var hint: String?

  package init(_ status: ExitStatus, _ message: String? = nil, hint: String? = nil) {
    self.status = status
    self.message = message
    self.hint = hint
  }

  /// An output that can't be written; one that was given up for a signal's sake is work that is left.
  init(_ error: OutputFileError) {
    self.init(error.isGivenUp ? .incomplete : .cannotCreate, error.description)
  }

  /// A state that can't be read or written.
  package init(_ error: LedgerError) { self.init(.cannotCreate, error.description) }
}

extension RunOutcome {
  /// That of a run whose end its ledger does not record.
  static func early(_ status: ExitStatus) -> RunOutcome { status == .incomplete ? .incomplete : .failed }
}

extension ExitStatus {
  /// How what can't be read or compiled ends: as the manifest's fault, unless all its errors have another cause.
  static func of(_ errors: [Diagnostic]) -> ExitStatus {
    let causes = Set(errors.map(\.cause))
    return switch causes {
    case [.unreadableInput]: .noInput
    case [.commandLine]: .usage
    default: .invalidManifest
    }
  }
}
