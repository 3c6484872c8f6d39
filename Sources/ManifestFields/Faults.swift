package import JobModel
package import YAML

/// Collects every fault of one manifest and of what it imports, each with its place and line.
package final class Faults {
  /// As messages name them; a mark's `file` is an index of these.
  private var files: [(name: String, lines: [Substring])] = []
  package private(set) var diagnostics: [Diagnostic] = []
  package private(set) var errorCount = 0
  /// What stands in an anchor is read once for each alias, and reported once.
  private var seen: Set<String> = []

  package init(file: String, text: String) { add(file: file, text: text) }

  /// - Returns: the `file` of its marks.
  @discardableResult package func add(file: String, text: String) -> Int {
    files.append((file, TextLines.split(text)))
    return files.count - 1
  }

  package func error(_ message: String, at mark: SourceMark, hint: String? = nil) {
    add(.error, message, at: yamlMark(mark), hint: hint)
  }

  package func error(_ fault: ValueFault, at mark: SourceMark) { error(fault, at: yamlMark(mark)) }

  /// A file that is named and can't be read.
  package func unreadable(_ message: String, at mark: YAMLMark) {
    add(.error, message, at: mark, hint: nil, cause: .unreadableInput)
  }

  package func error(_ message: String, at mark: YAMLMark?, hint: String? = nil) {
    add(.error, message, at: mark, hint: hint)
  }

  /// A fault of what stands on the command line beside the manifest.
  package func commandLineError(_ message: String, hint: String) {
    errorCount += 1
    diagnostics.append(Diagnostic(.error, message, hint: hint, cause: .commandLine))
  }

  /// A fault of a value that is a secret: it is not shown with its line.
  package func secretError(_ message: String, at mark: YAMLMark, hint: String?) {
    add(.error, message, at: mark, hint: hint, hidesRest: true)
  }

  package func warning(_ message: String, at mark: YAMLMark?, hint: String? = nil) {
    add(.warning, message, at: mark, hint: hint)
  }

  package func error(_ fault: ValueFault, at mark: YAMLMark) {
    add(.error, fault.message, at: mark, hint: fault.hint)
  }

  package func sourceMark(_ mark: YAMLMark) -> SourceMark {
    SourceMark(file: files[mark.file].name, line: mark.line, column: mark.column)
  }

  private func yamlMark(_ mark: SourceMark) -> YAMLMark {
    let file = files.firstIndex { $0.name == mark.file } ?? 0
    return YAMLMark(file: file, line: mark.line, column: mark.column)
  }

  package func lineText(_ mark: YAMLMark) -> String? {
    let lines = files[mark.file].lines
    guard mark.line >= 1, mark.line <= lines.count else { return nil }
    return String(lines[mark.line - 1])
  }

  private func add(
    _ severity: Diagnostic.Severity, _ message: String, at mark: YAMLMark?, hint: String?,
    hidesRest: Bool = false, cause: Diagnostic.Cause = .manifest
  ) {
    let key = "\(mark?.file ?? 0):\(mark?.line ?? 0):\(mark?.column ?? 0):\(message)"
    guard seen.insert(key).inserted else { return }
    if severity == .error { errorCount += 1 }
    var line = mark.flatMap(lineText)
    if hidesRest, let mark, let whole = line {
      let lead = whole.unicodeScalars.prefix(max(0, mark.column - 1))
      let count = whole.unicodeScalars.count - lead.count
      line = String(lead) + String(repeating: "*", count: count)
    }
    diagnostics.append(
      Diagnostic(severity, message, at: mark.map(sourceMark), lineText: line, hint: hint, cause: cause))
  }
}
