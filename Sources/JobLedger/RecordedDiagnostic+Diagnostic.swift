package import JobModel

extension RecordedDiagnostic {
  /// A diagnostic that no ledger holds: of a manifest that was refused before there was a run.
  package init(_ diagnostic: Diagnostic) {
    self.init(
      severity: diagnostic.severity.rawValue, message: diagnostic.fullMessage, place: diagnostic.mark?.text,
      hint: diagnostic.hint)
  }
}
