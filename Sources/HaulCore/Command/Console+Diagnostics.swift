package import JobModel
import Reporting
import Transfers

/// Diagnostics as the user reads them: place, line, caret, and what would be right.
extension Console {
  /// At most this many are printed, then a count.
  private static let limit = 100

  package func print(_ diagnostics: [Diagnostic]) {
    let shown = style.isQuiet ? diagnostics.filter { $0.severity == .error } : diagnostics
    // What is one too many may be the planner's own count of those that it has left out.
    guard shown.count > Self.limit + 1 else { return shown.forEach { print($0) } }
    for diagnostic in shown.prefix(Self.limit) { print(diagnostic) }
    let more = "… and \(shown.count - Self.limit) more"
    if style.isRecords { record("info", more) } else { emit(more + "\n") }
  }

  /// What a command that is no run has to say of its work.
  @Sendable func print(_ event: EngineEvent) {
    if case .diagnostic(let diagnostic) = event { print([diagnostic]) }
  }

  private func print(_ diagnostic: Diagnostic) {
    guard style.isRecords else { return emit(Self.text(diagnostic, colour: coloursErrors)) }
    let level = diagnostic.severity == .note ? "notice" : diagnostic.severity.rawValue
    record(
      level, diagnostic.fullMessage,
      [
        .init("place", .text(diagnostic.mark?.text)), .init("hint", .text(diagnostic.hint.map(Masking.text))),
      ])
  }

  static func text(_ diagnostic: Diagnostic, colour: Bool) -> String {
    let paint = diagnostic.severity == .error ? "\u{1b}[31m" : "\u{1b}[33m"
    let word = colour ? "\(paint)\(diagnostic.severity.rawValue)\u{1b}[0m" : diagnostic.severity.rawValue
    var text =
      "\(diagnostic.mark.map { safe($0.text) + ": " } ?? "")\(word): \(safe(Masking.text(diagnostic.fullMessage)))\n"
    if let line = diagnostic.lineText, let mark = diagnostic.mark {
      let scalars = line.unicodeScalars
      let lead = shown(String(String.UnicodeScalarView(scalars.prefix(max(0, mark.column - 1)))))
      // Tabs stay, so that the caret stands under what it points at.
      let blanks = lead.map {
        $0 == "\t" ? "\t" : String(repeating: " ", count: DisplayText.width(String($0)))
      }
      text += "  \(shown(line))\n  \(blanks.joined())^\n"
    }
    if let hint = diagnostic.hint { text += "  hint: \(safe(Masking.text(hint)))\n" }
    return text
  }

  private static func safe(_ text: String) -> String { DisplayText.safe(text, keepingNewlines: true) }

  /// A line with everything escaped but its tabs.
  private static func shown(_ line: String) -> String {
    line.split(separator: "\t", omittingEmptySubsequences: false).map { DisplayText.safe(String($0)) }
      .joined(separator: "\t")
  }
}
