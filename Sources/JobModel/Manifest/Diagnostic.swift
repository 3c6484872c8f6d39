/// Something the user should know about a manifest, a plan or a run, with its place and what would be right.
package struct Diagnostic: Sendable, Hashable, Error {
  package enum Severity: String, Sendable, Hashable { case error, warning, note }
  /// An input that can't be read is not the manifest's fault: it has an exit status of its own (66).
  /// Nor is a mistake on the command line (64).
  package enum Cause: Sendable, Hashable { case manifest, unreadableInput, commandLine }

  package var severity: Severity
  package var message: String
  package var mark: SourceMark?
  /// The text of the marked line, to print with a caret, secrets hidden; nil where there is none.
  package var lineText: String?
  package var hint: String?
  package var cause: Cause
  /// The transfer that it is about; the message does not name it.
  package var subject: String?

  package init(
    _ severity: Severity, _ message: String, at mark: SourceMark? = nil, lineText: String? = nil,
    hint: String? = nil, cause: Cause = .manifest
  ) {
    self.severity = severity
    self.message = message
    self.mark = mark
    self.lineText = lineText.map(EchoedLine.masked)
    self.hint = hint
    self.cause = cause
  }

  /// The message with its subject.
  package var fullMessage: String { subject.map { "\($0): \(message)" } ?? message }
}
