/// A place in a text file, for diagnostics: 1-based line and column (in characters).
package struct SourceMark: Sendable, Hashable, Comparable {
  package var file: String
  package var line: Int
  package var column: Int

  package init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  package var text: String { "\(file):\(line):\(column)" }

  package static func < (left: SourceMark, right: SourceMark) -> Bool {
    (left.file, left.line, left.column) < (right.file, right.line, right.column)
  }
}
