/// Where a transfer stands. The reason lives in the case that owns it.
package enum TransferState: Sendable, Hashable {
  case queued(QueuedReason?)
  case running
  case paused(PauseReason)
  case completed
  case upToDate(UpToDateReason?)
  case failed
  case canceled
  case skipped(SkipReason)

  package enum QueuedReason: Sendable, Hashable {
    case needs(String)
    case failFast
  }
  package enum PauseReason: String, Sendable, Hashable, CaseIterable {
    case retries, interrupted, user, window, deadline, budget, interface, metered, disk
  }
  package enum UpToDateReason: String, Sendable, Hashable, CaseIterable { case adopted, duplicate }
  package enum SkipReason: Sendable, Hashable {
    case disabled, exists
    case needs(String)
  }

  /// The word in the ledger and the report.
  package var word: String {
    switch self {
    case .queued: "queued"
    case .running: "running"
    case .paused: "paused"
    case .completed: "completed"
    case .upToDate: "up_to_date"
    case .failed: "failed"
    case .canceled: "canceled"
    case .skipped: "skipped"
    }
  }

  package var reason: String? {
    switch self {
    case .queued(.needs(let id)), .skipped(.needs(let id)): "needs:\(id)"
    case .queued(.failFast): "fail_fast"
    case .paused(let reason): reason.rawValue
    case .upToDate(let reason): reason?.rawValue
    case .skipped(.disabled): "disabled"
    case .skipped(.exists): "exists"
    case .queued(nil), .running, .completed, .failed, .canceled: nil
    }
  }

  /// Reads what `word` and `reason` wrote; nil for anything else.
  package init?(word: String, reason: String?) {
    let needed = reason.flatMap { $0.hasPrefix("needs:") ? String($0.dropFirst(6)) : nil }
    switch word {
    case "queued":
      if let needed {
        self = .queued(.needs(needed))
      } else {
        self = .queued(reason == "fail_fast" ? .failFast : nil)
      }
    case "running": self = .running
    case "paused": self = .paused(reason.flatMap(PauseReason.init(rawValue:)) ?? .interrupted)
    case "completed": self = .completed
    case "up_to_date": self = .upToDate(reason.flatMap(UpToDateReason.init(rawValue:)))
    case "failed": self = .failed
    case "canceled": self = .canceled
    case "skipped":
      if let needed {
        self = .skipped(.needs(needed))
      } else {
        self = .skipped(reason == "exists" ? .exists : .disabled)
      }
    default: return nil
    }
  }

  /// Says that something changed in this run: what a report of a very long plan lists.
  package var isNews: Bool {
    switch self {
    case .queued, .running, .upToDate(nil): false
    case .paused, .completed, .upToDate, .failed, .canceled, .skipped: true
    }
  }

  /// Had no turn in the run yet, or was stopped in it: the next attempt of the run goes on with it first.
  package var awaitsTurn: Bool {
    switch self {
    case .queued(nil), .running: true
    case .paused(.interrupted), .paused(.window), .paused(.deadline), .paused(.budget), .paused(.interface),
      .paused(.metered), .paused(.disk):
      true
    case .queued, .paused(.retries), .paused(.user), .completed, .upToDate, .failed, .canceled, .skipped:
      false
    }
  }

  /// Ended in a way that no further attempt of this run mends: those that need it are skipped.
  package var breaksNeed: Bool {
    switch self {
    case .failed, .canceled, .skipped(.disabled), .skipped(.needs): true
    case .queued, .running, .paused, .completed, .upToDate, .skipped(.exists): false
    }
  }
}
