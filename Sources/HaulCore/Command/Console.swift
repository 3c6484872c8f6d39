import Glibc
import JobModel
import Posix
import Reporting

/// Where a command prints: data to its output, messages to its errors.
package final class Console: Sendable {
  /// How messages are written: by the words of the command line, which may be too wrong to be parsed.
  package struct Style: Sendable {
    package let format: LogSettings.Format
    package let isQuiet: Bool
    /// Whether each line is a record, for machines to take in.
    package var isRecords: Bool { format != .text }
    /// Whether programs that haul runs may write to its standard error what they like.
    var takesForeignLines: Bool { !isRecords && !isQuiet }

    package init(_ arguments: [String]) {
      isQuiet = arguments.contains("--quiet")
      format =
        [.json, .journal].first { format in
          arguments.contains("--log-format=\(format.rawValue)")
            || zip(arguments, arguments.dropFirst()).contains { $0 == ("--log-format", format.rawValue) }
        } ?? .text
    }
  }

  package let style: Style
  /// The descriptors of standard output and standard error.
  let output: Int32
  let errors: Int32
  private let environment: ProcessEnvironment
  private let failed = OnceValue<OutputFileError>()

  package init(output: Int32, errors: Int32, style: Style, environment: ProcessEnvironment) {
    self.output = output
    self.errors = errors
    self.style = style
    self.environment = environment
  }

  /// Why standard output could not be written; what follows the first failure is not written either.
  var outFailure: OutputFileError? { failed.value }

  /// How a command ends whose output did not reach its reader, whatever else it did; nil where it did.
  package var unwritten: End? {
    // Whoever closed a pipe knows it.
    outFailure.map { $0.isReaderGone ? End(.cannotCreate) : End($0) }
  }

  package func out(_ text: String) { out(Array(text.utf8)) }

  package func out(_ bytes: [UInt8]) {
    guard outFailure == nil else { return }
    do { try Descriptor.write(bytes, to: output, path: "standard output") } catch { failed.set(error) }
  }

  /// Says what was done; nothing under `--quiet`.
  package func note(_ message: String) {
    guard !style.isQuiet else { return }
    if style.isRecords { record("info", message) } else { emit("haul: \(shown(message))\n") }
  }

  /// A plain line of progress or the summary, with its time where no terminal shows it as it comes.
  func timed(_ text: String) {
    let time = isErrorTerminal ? "" : Timestamp.text(SystemClock.now) + " "
    emit(time + text)
  }

  /// A line of `--log-format json` or `journal`.
  func record(_ level: String, _ message: String, _ facts: [JSON.Member] = []) {
    let record = LogRecord(level: level, message: Masking.text(message), facts: facts)
    emit(record.line(style.format, at: Timestamp.text(SystemClock.now)))
  }

  package func error(_ message: String, hint: String? = nil) {
    guard !style.isRecords else {
      return record("error", message, [.init("hint", .text(hint.map(Masking.text)))])
    }
    emit("haul: \(shown(message))\n" + (hint.map { "hint: \(shown($0))\n" } ?? ""))
  }

  package func print(_ end: End) {
    if let message = end.message { error(message, hint: end.hint) }
  }

  /// Writes to standard error as it is. Nobody can be told that standard error can't be written.
  func emit(_ text: String) { try? Descriptor.write(Array(text.utf8), to: errors, path: "standard error") }

  private func shown(_ text: String) -> String {
    DisplayText.safe(Masking.text(text), keepingNewlines: true)
  }

  package var isOutputTerminal: Bool { isatty(output) == 1 }
  var isErrorTerminal: Bool { isatty(errors) == 1 }

  package var coloursOutput: Bool { colours(isOutputTerminal) }
  package var coloursErrors: Bool { colours(isErrorTerminal) }

  /// Whether the live view would be in colour there.
  private func colours(_ isTerminal: Bool) -> Bool {
    ProgressForm(
      isEnabled: true, isTerminal: isTerminal, term: environment["TERM"], noColor: environment["NO_COLOR"]
    ).isColoured
  }
}
