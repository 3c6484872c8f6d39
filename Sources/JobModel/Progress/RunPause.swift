/// A time of a run in which nothing moved under a policy, or to a server, and why.
package struct RunPause: Sendable, Hashable {
  /// Open to new words in reports.
  package enum Reason: String, Sendable, CaseIterable {
    case window, deadline, budget, interface, metered, disk, user, interrupted
    /// A server asked for a pause (429 or 503, `Retry-After`).
    case cooldown
    /// A server did not answer: its circuit breaker was open.
    case breaker
    /// The machine had no network to the server.
    case network

    /// What a policy's hold is called here.
    package init(_ reason: TransferState.PauseReason) {
      self =
        switch reason {
        case .window: .window
        case .deadline: .deadline
        case .budget: .budget
        case .interface: .interface
        case .metered: .metered
        case .disk: .disk
        case .user: .user
        case .interrupted: .interrupted
        case .retries: .cooldown
        }
    }
  }

  package var reason: Reason
  /// The policy or the server; nil for the run as a whole, and for a policy without a name.
  package var subject: String?
  /// Seconds since 1970.
  package var startedAt: Double
  /// nil while it lasts.
  package var endedAt: Double?

  package init(_ reason: Reason, of subject: String?, from startedAt: Double, to endedAt: Double? = nil) {
    self.reason = reason
    self.subject = subject
    self.startedAt = startedAt
    self.endedAt = endedAt
  }
}

/// The pauses of a run, in the order of their begins and in bounded room: of one cause, those that lie close together are one.
package struct RunPauses: Sendable, Hashable {
  package static let limit = 300
  package private(set) var all: [RunPause]
  /// Seconds between two pauses of one cause that are one; grows where there are too many.
  private var gap = 1.0

  package init(_ all: [RunPause] = []) { self.all = all }

  /// Begins a pause, unless one of this cause lasts.
  ///
  /// - Parameter now: seconds since 1970.
  package mutating func begin(_ reason: RunPause.Reason, of subject: String?, at now: Double) {
    add(RunPause(reason, of: subject, from: now))
  }

  /// Adds a pause; one of the same cause that reaches as far as its begin becomes longer.
  package mutating func add(_ pause: RunPause) {
    let same = all.lastIndex { $0.reason == pause.reason && $0.subject == pause.subject }
    if let same, pause.startedAt - (all[same].endedAt ?? .infinity) < gap {
      all[same] = Self.joined(all[same], pause)
    } else {
      all.append(pause)
    }
    while all.count > Self.limit { thin() }
  }

  /// Ends a pause, if one of this cause lasts.
  package mutating func end(_ reason: RunPause.Reason, of subject: String?, at now: Double) {
    for index in all.indices where all[index].reason == reason && all[index].subject == subject {
      end(index, at: now)
    }
  }

  /// Ends those that last and are chosen; a cool-down's end may be known, and lie ahead.
  package mutating func end(at now: Double, where isChosen: (RunPause) -> Bool = { _ in true }) {
    for index in all.indices where isChosen(all[index]) {
      all[index].endedAt = max(all[index].startedAt, min(all[index].endedAt ?? now, now))
    }
  }

  private mutating func end(_ index: Int, at now: Double) {
    if all[index].endedAt == nil { all[index].endedAt = max(all[index].startedAt, now) }
  }

  private static func joined(_ first: RunPause, _ second: RunPause) -> RunPause {
    var both = first
    both.endedAt = first.endedAt.flatMap { end in second.endedAt.map { max(end, $0) } }
    return both
  }

  /// Makes room: joins what lies closer together than before; where causes are too many, forgets the shortest.
  private mutating func thin() {
    gap *= 2
    var kept: [RunPause] = []
    var last: [Cause: Int] = [:]
    for pause in all {
      let cause = Cause(reason: pause.reason, subject: pause.subject)
      if let index = last[cause], pause.startedAt - (kept[index].endedAt ?? .infinity) < gap {
        kept[index] = Self.joined(kept[index], pause)
      } else {
        last[cause] = kept.count
        kept.append(pause)
      }
    }
    all = kept
    guard gap > 1e6, all.count > Self.limit else { return }
    func length(_ index: Int) -> Double { (all[index].endedAt ?? .infinity) - all[index].startedAt }
    if let shortest = all.indices.min(by: { length($0) < length($1) }) { all.remove(at: shortest) }
  }

  private struct Cause: Hashable {
    let reason: RunPause.Reason
    let subject: String?
  }
}
