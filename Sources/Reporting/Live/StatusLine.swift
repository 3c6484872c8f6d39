import Locks

/// One line at a terminal's end that is drawn again in its place.
package final class StatusLine: Sendable {
  private let isDrawn = Locked(false)
  private let isEnabled: Bool
  private let columns: @Sendable () -> Int
  private let write: @Sendable (String) -> Void

  /// - Parameters:
  ///   - isEnabled: false where nothing is to be drawn.
  ///   - columns: the terminal's, asked at each redraw.
  ///   - write: to standard error.
  package init(
    isEnabled: Bool, columns: @escaping @Sendable () -> Int, write: @escaping @Sendable (String) -> Void
  ) {
    self.isEnabled = isEnabled
    self.columns = columns
    self.write = write
  }

  package func show(_ text: String) {
    guard isEnabled else { return }
    isDrawn.withLock {
      // The last column stays free: some terminals go to the next line behind it.
      write("\r" + DisplayText.truncated(text, to: columns() - 1) + "\u{1b}[K")
      $0 = true
    }
  }

  /// Prints lines where they are not drawn over.
  package func print(_ body: () -> Void) {
    isDrawn.withLock {
      if $0 { write("\r\u{1b}[K") }
      $0 = false
      body()
    }
  }
}
