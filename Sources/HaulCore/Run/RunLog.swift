import Admission
import Glibc
import JobModel
import Logging
import Posix
import Reporting
import Synchronization
import Transfers

/// What happens in a run, as log lines on standard error (`--log-level`, `--log-format`).
///
/// What is common is said once: the first failure, retry or warning of a cause at once, the others counted, in at most
/// a line a cause every 30 s.
struct RunLog: Sendable {
  private let logger: Logger
  private let causes = LogCauses()

  /// - Parameter write: takes whole lines; the live view keeps clear of them.
  init(_ settings: LogSettings, write: @escaping @Sendable (String) -> Void) {
    var logger = Logger(label: "haul") { _ in LineLogHandler(format: settings.format, write: write) }
    logger.logLevel =
      switch settings.level {
      case .debug: .debug
      case .info: .info
      case .warning: .warning
      case .error: .error
      }
    if settings.isQuiet { logger.logLevel = .critical }
    self.logger = logger
  }

  /// Says what was counted and is due; `isLast` says all of it.
  func tick(now: Double, isLast: Bool = false) {
    for due in causes.due(now: now, isLast: isLast) {
      let kind = due.kind
      var metadata: Logger.Metadata = [:]
      if !due.cause.code.isEmpty { metadata["code"] = .string(due.cause.code) }
      if let host = due.cause.host { metadata["host"] = .string(host) }
      if [.failure, .retry].contains(kind) { metadata["error"] = .string(Masking.text(due.cause.message)) }
      let names = CauseTally.names(due.ids, of: due.count)
      let text =
        switch kind {
        case .failure: "\(due.count) more failed for this cause: \(names)"
        // One transfer tries several times: its tries are no further transfers.
        case .retry:
          "\(Figures.count(due.count, "more try")) for this cause: \(due.ids.joined(separator: ", "))"
        case .error, .warning, .note: "\(due.count) more: \(Masking.text(due.cause.message)): \(names)"
        }
      logger.log(level: kind.level, "\(text)", metadata: metadata)
    }
  }

  private func isFirst(_ kind: LogCauses.Kind, _ cause: Cause, _ id: String) -> Bool {
    guard logger.logLevel <= kind.level else { return false }
    return causes.note(kind, cause, id: id, now: SystemClock.uptime)
  }

  func record(_ event: EngineEvent) {
    switch event {
    case .state(let id, let old, let new, let failure, _):
      let text = "\(old.word) -> \(new.word)\(new.reason.map { " (\($0))" } ?? "")"
      if case .failed = new {
        if let failure, !isFirst(.failure, Cause(failure, id: id), id) { return }
        logger.error("\(text)", metadata: facts(id, failure))
      } else {
        logger.info("\(text)", metadata: facts(id, failure))
      }
    case .retry(let id, let delay, let failure):
      guard isFirst(.retry, Cause(failure, id: id), id) else { return }
      logger.warning("trying again in \(Figures.duration(delay))", metadata: facts(id, failure))
    case .host(let news):
      logger.info(
        "\(news.change.reason)", metadata: ["host": .string(news.host), "is": .string(news.change.word)])
    case .diagnostic(let diagnostic):
      let id = diagnostic.subject
      let cause = Cause(code: "", host: nil, message: CauseMessage.general(diagnostic.message, id: id))
      let kind = LogCauses.Kind(diagnostic.severity)
      guard id.map({ isFirst(kind, cause, $0) }) ?? true else { return }
      logger.log(level: kind.level, "\(Masking.text(diagnostic.fullMessage))")
    case .held(let name, let hold):
      // What the network has a part in is a warning of its own, which says more.
      guard hold.reason != .interface, hold.reason != .metered else { return }
      let until = hold.until.map { " until \(Timestamp.text($0))" } ?? ""
      logger.warning("\(name ?? "a policy"): paused (\(hold.reason.rawValue))\(until)")
    case .released(let name, let reason):
      logger.info("\(name ?? "a policy"): goes on (\(reason.rawValue) is over)")
    case .bandwidth(let name, let bandwidth):
      logger.info("\(name ?? "the job"): bandwidth is \(Figures.bandwidth(bandwidth))")
    case .chunk(let id, let index, let bytes, _):
      logger.debug("chunk \(index) done, \(bytes) bytes", metadata: facts(id, nil))
    case .checked(let id, let check):
      logger.debug(
        "\(check.check) against \(check.against.rawValue): \(check.result.rawValue)", metadata: facts(id, nil)
      )
    }
  }

  private func facts(_ id: String, _ failure: Failure?) -> Logger.Metadata {
    var facts: Logger.Metadata = ["transfer": .string(id)]
    if let failure {
      facts["code"] = .string(failure.code.rawValue)
      facts["error"] = .string(Masking.text(failure.message))
    }
    return facts
  }
}

/// Log lines in the form that was asked for.
private struct LineLogHandler: LogHandler {
  var logLevel = Logger.Level.warning
  var metadata: Logger.Metadata = [:]
  let format: LogSettings.Format
  let write: @Sendable (String) -> Void

  init(format: LogSettings.Format, write: @escaping @Sendable (String) -> Void) {
    self.format = format
    self.write = write
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let facts = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
    let record = LogRecord(
      level: event.level.rawValue, message: event.message.description,
      facts: facts.map { .init($0.key, .string("\($0.value)")) })
    write(record.line(format, at: Timestamp.text(SystemClock.now)))
  }
}
