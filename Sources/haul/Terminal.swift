import Foundation
import JobModel

/// Standard output and error: data goes to the one, talk to the other.
enum Terminal {
  static func out(_ text: String) { write(STDOUT_FILENO, Array(text.utf8)) }
  static func out(_ bytes: [UInt8]) { write(STDOUT_FILENO, bytes) }
  static func talk(_ text: String) { write(STDERR_FILENO, Array(text.utf8)) }

  static func error(_ message: String, hint: String? = nil) {
    talk("haul: \(message)\n" + (hint.map { "hint: \($0)\n" } ?? ""))
  }

  static func exit(_ status: ExitStatus) -> Never { Foundation.exit(status.rawValue) }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Colour on standard error: only on a terminal, never under NO_COLOR (no-color.org).
  static var hasColour: Bool {
    let environment = ProcessInfo.processInfo.environment
    return isTerminal(STDERR_FILENO) && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }

  /// Columns and rows of standard error's terminal; nil where there is none.
  static func size() -> (columns: Int, rows: Int)? {
    var window = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 else { return nil }
    return (Int(window.ws_col), Int(window.ws_row))
  }

  private static func write(_ descriptor: Int32, _ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      // A reader that went away is no reason to stop transferring.
      if count <= 0 {
        if count < 0, errno == EINTR { continue }
        return
      }
      rest = rest.dropFirst(count)
    }
  }
}
