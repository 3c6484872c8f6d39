import JobModel
import TransferEngine

/// Diagnostics as the user reads them: place, line, caret, and what would be right.
enum DiagnosticText {
  /// At most this many are printed, then a count.
  static let limit = 100

  static func print(_ diagnostics: [Diagnostic]) {
    let colour = Terminal.hasColour
    for diagnostic in diagnostics.prefix(limit) { Terminal.talk(text(diagnostic, colour: colour)) }
    if diagnostics.count > limit { Terminal.talk("… and \(diagnostics.count - limit) more\n") }
  }

  /// What a command that is no run has to say of its work.
  @Sendable static func tell(_ event: EngineEvent) {
    if case .diagnostic(let diagnostic) = event { print([diagnostic]) }
  }

  static func text(_ diagnostic: Diagnostic, colour: Bool) -> String {
    let paint = diagnostic.severity == .error ? "\u{1b}[31m" : "\u{1b}[33m"
    let word = colour ? "\(paint)\(diagnostic.severity.rawValue)\u{1b}[0m" : diagnostic.severity.rawValue
    var text = "\(diagnostic.mark.map { $0.text + ": " } ?? "")\(word): \(diagnostic.message)\n"
    if let line = diagnostic.lineText, let mark = diagnostic.mark {
      let lead = line.unicodeScalars.prefix(max(0, mark.column - 1))
      // Tabs stay, so that the caret stands under what it points at.
      let blanks = String(String.UnicodeScalarView(lead.map { $0 == "\t" ? "\t" : " " }))
      text += "  \(line)\n  \(blanks)^\n"
    }
    if let hint = diagnostic.hint { text += "  hint: \(hint)\n" }
    return text
  }
}
