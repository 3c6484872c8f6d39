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
  static var hasColour: Bool { colours(STDERR_FILENO) }

  static func colours(_ descriptor: Int32) -> Bool {
    let environment = ProcessInfo.processInfo.environment
    return isTerminal(descriptor) && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
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
