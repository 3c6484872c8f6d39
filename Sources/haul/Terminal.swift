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

  /// How standard error is written: by the words of the command line, which may be too wrong to be parsed.
  struct Style: Sendable {
    let isJSON: Bool
    let isQuiet: Bool

    init(_ arguments: [String]) {
      isQuiet = arguments.contains("--quiet")
      isJSON =
        arguments.contains("--log-format=json")
        || zip(arguments, arguments.dropFirst()).contains { $0 == ("--log-format", "json") }
    }
  }
  static let style = Style(CommandLine.arguments)

  /// Tells what was done; nothing under `--quiet`.
  static func note(_ message: String) {
    guard !style.isQuiet else { return }
    if style.isJSON { record("info", message) } else { talk("haul: \(shown(message))\n") }
  }

  /// A plain line of progress or the summary, with its time where no terminal shows it as it comes.
  static func timed(_ text: String) {
    let time = isTerminal(STDERR_FILENO) ? "" : Timestamp.text(Date().timeIntervalSince1970) + " "
    talk(time + text)
  }

  /// A line of `--log-format json`.
  static func record(_ level: String, _ message: String, _ more: [JSON.Member] = []) {
    let line = JSON.object(
      [
        .init("at", .string(Timestamp.text(Date().timeIntervalSince1970))), .init("level", .string(level)),
        .init("message", .string(Masking.text(message))),
      ] + more)
    talk(line.text + "\n")
  }

  private static func shown(_ text: String) -> String {
    DisplayText.safe(Masking.text(text), keepingNewlines: true)
  }

  /// Nobody can be told that standard error can't be written.
  static func talk(_ text: String) {
    try? Descriptor.write(Array(text.utf8), to: STDERR_FILENO, path: "standard error")
  }

  static func error(_ message: String, hint: String? = nil) {
    guard !style.isJSON else {
      return record("error", message, [.init("hint", .text(hint.map(Masking.text)))])
    }
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
