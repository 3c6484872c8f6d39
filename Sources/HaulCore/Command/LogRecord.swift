import JobModel
import Reporting

/// One record of standard error, as each `--log-format` writes it.
struct LogRecord {
  /// debug, info, notice, warning, error or critical.
  var level: String
  var message: String
  /// What belongs to it: texts, and in JSON any value.
  var facts: [JSON.Member] = []

  /// The record as one line, with its end.
  ///
  /// - Parameter time: when it was said, RFC 3339. The journal keeps its own.
  func line(_ format: LogSettings.Format, at time: String) -> String {
    switch format {
    case .text: "\(time) \(level): \(plain)\n"
    case .journal: "<\(priority)>\(plain)\n"
    case .json:
      JSON.object(
        [.init("at", .string(time)), .init("level", .string(level)), .init("message", .string(message))]
          + facts
      ).text + "\n"
    }
  }

  private var plain: String {
    let texts = facts.compactMap { fact in fact.value.string.map { " \(fact.name)=\(DisplayText.safe($0))" } }
    return DisplayText.safe(message) + texts.joined()
  }

  /// A priority of syslog(3), which journald takes from `<N>` at a line's beginning (sd-daemon(3)).
  private var priority: Int {
    switch level {
    case "critical": 2
    case "error": 3
    case "warning": 4
    case "notice": 5
    case "info": 6
    default: 7
    }
  }
}
