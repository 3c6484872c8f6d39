import JobModel
import Logging
import Locks

/// Counts what a log says for one cause, so that it is said once and then summed up.
final class LogCauses: Sendable {
  enum Kind: Hashable, Sendable {
    case failure, retry
    /// A diagnostic, by its severity.
    case error, warning, note

    /// What a diagnostic is logged as.
    init(_ severity: Diagnostic.Severity) {
      self =
        switch severity {
        case .error: .error
        case .warning: .warning
        case .note: .note
        }
    }

    var level: Logger.Level {
      switch self {
      case .failure, .error: .error
      case .retry, .warning: .warning
      case .note: .info
      }
    }
  }

  struct Due: Sendable {
    var kind: Kind
    var cause: Cause
    var count = 0
    var ids: [String] = []
    /// When it was said last.
    var saidAt: Double
  }

  private struct Key: Hashable {
    var kind: Kind
    var cause: Cause
  }

  /// Seconds between two lines of one cause.
  private static let interval = 30.0
  private let known = Locked<[Key: Due]>([:])

  /// - Returns: whether it is the first of its cause, to be said at once.
  func note(_ kind: Kind, _ cause: Cause, id: String, now: Double) -> Bool {
    known.withLock { known in
      var key = Key(kind: kind, cause: cause)
      if known[key] == nil, known.count >= CauseTally.limit {
        key.cause = .various(cause.code)
      }
      guard var entry = known[key] else {
        known[key] = Due(kind: kind, cause: key.cause, saidAt: now)
        return true
      }
      entry.count += 1
      if entry.ids.count < CauseTally.named, !entry.ids.contains(id) { entry.ids.append(id) }
      known[key] = entry
      return false
    }
  }

  /// Takes what was counted for causes that were said long enough ago, or all of it.
  func due(now: Double, isLast: Bool) -> [Due] {
    known.withLock { known in
      var due: [Due] = []
      for (key, entry) in known where entry.count > 0 && (isLast || now - entry.saidAt >= Self.interval) {
        due.append(entry)
        known[key] = Due(kind: key.kind, cause: key.cause, saidAt: now)
      }
      return due
    }
  }
}
