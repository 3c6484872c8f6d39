internal import JobModel
internal import YAML

/// Collects every fault of one manifest, each with its place and line.
final class Faults {
  let file: String
  private let lines: [Substring]
  private(set) var diagnostics: [Diagnostic] = []
  private(set) var errorCount = 0
  /// What stands in an anchor is read once for each alias, and reported once.
  private var seen: Set<String> = []

  init(file: String, text: String) {
    self.file = file
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  func error(_ message: String, at mark: YAMLMark?, hint: String? = nil) {
    add(.error, message, at: mark, hint: hint)
  }

  func warning(_ message: String, at mark: YAMLMark?, hint: String? = nil) {
    add(.warning, message, at: mark, hint: hint)
  }

  func error(_ fault: ValueFault, at mark: YAMLMark) {
    add(.error, fault.message, at: mark, hint: fault.hint)
  }

  func sourceMark(_ mark: YAMLMark) -> SourceMark {
    SourceMark(file: file, line: mark.line, column: mark.column)
  }

  func lineText(_ mark: YAMLMark) -> String? {
    guard mark.line >= 1, mark.line <= lines.count else { return nil }
    let line = lines[mark.line - 1]
    return String(line.last == "\r" ? line.dropLast() : line)
  }

  private func add(_ severity: Diagnostic.Severity, _ message: String, at mark: YAMLMark?, hint: String?) {
    let key = "\(mark?.line ?? 0):\(mark?.column ?? 0):\(message)"
    guard seen.insert(key).inserted else { return }
    if severity == .error { errorCount += 1 }
    diagnostics.append(
      Diagnostic(
        severity, message, at: mark.map(sourceMark), lineText: mark.flatMap(lineText), hint: hint))
  }
}
