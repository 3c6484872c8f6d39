import Endpoints
import JobLedger

/// Retry-After cool-downs that servers asked earlier runs for, and the transfers that wait for their ends.
struct RecordedCooldowns {
  private struct Waiting: Hashable {
    let origin: String
    let group: PolicyGroup.Key
  }
  /// By origin, in seconds since 1970.
  private var ends: [String: Double]
  private var waiting: [Waiting: [Int64]] = [:]

  /// Takes up what is on record. A cool-down that an earlier version believed for longer than a day is cut to a day from
  /// now, on record as well: else it would be as long in each run.
  init(_ ledger: JobLedger, _ writer: LedgerWriter, now: Double) throws {
    let latest = now + HTTPFailure.longestRetryAfter
    ends = try ledger.rests(now: now)
    for (origin, end) in ends where end > latest {
      ends[origin] = latest
      writer.submit(.cooldown(origin: origin, until: latest, askedAt: now))
    }
  }

  /// None is on record, and none is waited for.
  init() { ends = [:] }

  var isEmpty: Bool { ends.isEmpty }

  /// When this origin's cool-down ends; nil where it has none now.
  func end(of origin: String, now: Double) -> Double? { ends[origin].flatMap { $0 > now ? $0 : nil } }

  /// - Returns: whether it is the first that waits for this origin.
  mutating func wait(_ seq: Int64, for origin: String, _ group: PolicyGroup.Key) -> Bool {
    let isFirst = !waiting.keys.contains { $0.origin == origin }
    waiting[Waiting(origin: origin, group: group), default: []].append(seq)
    return isFirst
  }

  mutating func forget(_ seqs: Set<Int64>) {
    for (who, all) in waiting {
      let rest = all.filter { !seqs.contains($0) }
      waiting[who] = rest.isEmpty ? nil : rest
    }
  }

  mutating func endAll() { ends = ends.mapValues { _ in 0 } }

  /// The groups of those that wait.
  var groups: Set<PolicyGroup.Key> { Set(waiting.keys.map(\.group)) }

  /// The next end that somebody waits for.
  var nextEnd: Double? { waiting.keys.compactMap { ends[$0.origin] }.min() }

  /// Takes out the cool-downs that have ended.
  ///
  /// - Returns: the origins that somebody waited for, with who did.
  mutating func takeEnded(now: Double) -> [(origin: String, seqs: [Int64])] {
    var ended: [(String, [Int64])] = []
    for origin in ends.filter({ $0.value <= now }).keys {
      ends[origin] = nil
      let over = waiting.filter { $0.key.origin == origin }
      for who in over.keys { waiting[who] = nil }
      if !over.isEmpty { ended.append((origin, over.values.flatMap(\.self))) }
    }
    return ended
  }
}
