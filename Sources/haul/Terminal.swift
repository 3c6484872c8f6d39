import Foundation
import JobModel
import Reporting

/// Standard output and error: data goes to the one, talk to the other.
enum Terminal {
  private static let failed = Latch<OutputFileError>()

  /// Why standard output could not be written; what follows the first failure is not written either.
  static var outFailure: OutputFileError? { failed.value }

  static func out(_ text: String) { out(Array(text.utf8)) }

  static func out(_ bytes: [UInt8]) {
    guard outFailure == nil else { return }
    do { try Descriptor.write(bytes, to: STDOUT_FILENO, path: "standard output") } catch { failed.set(error) }
  }

  /// Nobody can be told that standard error can't be written.
  static func talk(_ text: String) {
    try? Descriptor.write(Array(text.utf8), to: STDERR_FILENO, path: "standard error")
  }

  static func error(_ message: String, hint: String? = nil) {
    func shown(_ text: String) -> String { DisplayText.safe(Masking.text(text), keepingNewlines: true) }
    talk("haul: \(shown(message))\n" + (hint.map { "hint: \(shown($0))\n" } ?? ""))
  }

  /// Ends the process at once: threads that are left behind must not meet handlers that take their ground away.
  static func exit(_ status: ExitStatus) -> Never {
    fflush(nil)
    _exit(status.rawValue)
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Colour on standard error: only on a terminal, never under NO_COLOR (no-color.org).
  static var hasColour: Bool { colours(STDERR_FILENO) }

  static func colours(_ descriptor: Int32) -> Bool {
    let environment = ProcessInfo.processInfo.environment
    return isTerminal(descriptor) && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }
}
