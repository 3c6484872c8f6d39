import Glibc

/// What a program's surroundings say about where progress goes.
package struct ProgressForm: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// Redrawn lines.
    case live
    /// A plain line now and then.
    case plain
    case none
  }
  package var kind: Kind
  package var isColoured: Bool

  /// - Parameters:
  ///   - isEnabled: false for `--no-progress`.
  ///   - isTerminal: of standard error.
  ///   - term: the variable TERM.
  ///   - noColor: the variable NO_COLOR; set and not empty, it takes the colours (no-color.org).
  package init(isEnabled: Bool, isTerminal: Bool, term: String?, noColor: String?) {
    let canRedraw = isTerminal && term != nil && term != "" && term != "dumb"
    isColoured = canRedraw && (noColor ?? "").isEmpty
    kind = !isEnabled ? .none : canRedraw ? .live : .plain
  }
}

/// A terminal's size.
package enum TerminalSize {
  /// Columns and rows of the terminal at `descriptor`, else what COLUMNS says, else 80 by 24.
  package static func current(_ descriptor: Int32, columnsVariable: String?) -> (columns: Int, rows: Int) {
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
    let told = columnsVariable.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    let columns = isKnown && size.ws_col > 0 ? Int(size.ws_col) : told ?? 80
    return (columns, isKnown && size.ws_row > 0 ? Int(size.ws_row) : 24)
  }
}
