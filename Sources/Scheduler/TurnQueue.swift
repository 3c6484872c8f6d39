import Admission
import JobLedger
import JobModel

/// The queued transfers of a plan, read a page at a time and lined up by the policy they share turns with and the host
/// that they ask, so that a policy whose turns are all taken, or a host that rests, holds up nobody else's.
struct TurnQueue {
  struct Key: Hashable {
    let group: PolicyGroup.Key
    /// An origin.
    let host: String?
  }
  private var lines: [Key: TurnLine] = [:]
  /// Profiles that are read by themselves: the common reading leaves them out.
  private var parked: [PolicyGroup.Key: [Int64: Parked]] = [:]

  /// How far a profile was read.
  private struct Parked {
    var last: Int64
    var isAtEnd = false
  }
  private var cursor: Int64 = 0
  /// Only what the run was asked for is read.
  private let isSelective: Bool
  private var reachedEnd = false
  /// A plan's settings differ; asked once.
  private var hasSeveralProfiles: Bool?
  private static let page = 256
  /// A line that is longer waits without being read on.
  private static let enough = 64
  private static let mostWaiting = 8192
  private static let mostParked = 500

  /// Reads from the beginning: what was queued may be other than it was.
  mutating func reset() { self = TurnQueue(isSelective: isSelective) }

  init(isSelective: Bool) { self.isSelective = isSelective }

  /// Nothing that was read waits.
  var isEmpty: Bool { lines.isEmpty }

  /// Takes out of it those that were read already and wait under a policy.
  mutating func remove(_ group: PolicyGroup.Key, _ ledger: JobLedger) throws -> [LedgerTransfer] {
    var removed: [LedgerTransfer] = []
    for (key, var line) in lines where key.group == group {
      while let transfer = try line.popFirst(ledger.queued(among:)) { removed.append(transfer) }
      lines[key] = nil
    }
    return removed
  }

  /// The next transfer whose turn may come; nil where there is none now.
  ///
  /// - Parameters:
  ///   - blocked: profiles that must wait for others.
  ///   - key: which line a transfer belongs to; nil for one that has no turn.
  ///   - state: whether the first of a line may have its turn.
  mutating func next(
    _ ledger: JobLedger, blocked: Set<Int64>, key: (LedgerTransfer) throws -> Key?,
    state: (Key) -> TransferOutlook
  ) throws -> LedgerTransfer? {
    while true {
      if let transfer = try takeFirst(ledger, state) { return transfer }
      var states: [Key: TransferOutlook] = [:]
      for name in lines.keys { states[name] = state(name) }
      if try readParked(ledger, blocked: blocked, key: key, states: states) { continue }
      guard !reachedEnd, try readOn(ledger, blocked: blocked, key: key, states: states) else { return nil }
    }
  }

  /// The first in the plan of those whose line is free.
  private mutating func takeFirst(_ ledger: JobLedger, _ state: (Key) -> TransferOutlook) throws
    -> LedgerTransfer?
  {
    while true {
      var first: (place: Dictionary<Key, TurnLine>.Index, seq: Int64)?
      for place in lines.indices {
        guard let seq = lines.values[place].firstSeq, seq < first?.seq ?? .max,
          state(lines.keys[place]) == .free
        else { continue }
        first = (place, seq)
      }
      guard let place = first?.place else { return nil }
      let transfer = try lines.values[place].popFirst(ledger.queued(among:))
      if lines.values[place].isEmpty { lines.remove(at: place) }
      if let transfer { return transfer }
    }
  }

  private var waiting: Int { lines.values.reduce(0) { $0 + $1.count } }

  /// Reads the next page of profiles that are read by themselves and whose policy has a turn left.
  private mutating func readParked(
    _ ledger: JobLedger, blocked: Set<Int64>, key: (LedgerTransfer) throws -> Key?,
    states: [Key: TransferOutlook]
  ) throws -> Bool {
    guard !parked.isEmpty else { return false }
    let full = Set(states.lazy.filter { $0.value == .full }.map(\.key.group))
    var found = false
    for (group, profiles) in parked where !full.contains(group) {
      for (profile, place) in profiles where !place.isAtEnd && !blocked.contains(profile) {
        // More than that wait for hosts that rest.
        guard waiting < Self.mostWaiting else { return found }
        let more = try ledger.queued(
          profile: profile, after: place.last, isSelective: isSelective, limit: Self.page)
        parked[group]?[profile] = Parked(
          last: more.last?.seq ?? place.last, isAtEnd: more.count < Self.page)
        try add(more, key)
        found = found || !more.isEmpty
      }
    }
    return found
  }

  /// Reads the next page of the plan; false where enough waits already.
  private mutating func readOn(
    _ ledger: JobLedger, blocked: Set<Int64>, key: (LedgerTransfer) throws -> Key?,
    states: [Key: TransferOutlook]
  ) throws -> Bool {
    let waiting = waiting
    if waiting >= Self.enough {
      // Those behind may ask another host, or be under another policy.
      let most =
        try states.values.contains(.shut) || isMixed(ledger)
        ? Self.mostWaiting : states.values.contains(.awaited) ? TurnLine.inFront : 0
      guard waiting < most else { return false }
      // A long line whose policy has no turn left is left out of the reading. Rows of settings of their own are passed over.
      for (name, line) in lines where line.count >= Self.enough && states[name] == .full {
        for (profile, count) in line.profiles
        where count >= Self.enough && parked[name.group]?[profile] == nil && parkedCount < Self.mostParked {
          parked[name.group, default: [:]][profile] = Parked(last: cursor)
        }
      }
    }
    let profiles = parked.values.flatMap(\.keys)
    let more = try ledger.queued(
      after: cursor, excluding: blocked.union(profiles), isSelective: isSelective, limit: Self.page)
    cursor = more.last?.seq ?? cursor
    reachedEnd = more.isEmpty
    // What was read to its end, and lies behind the common reading, takes no place any more.
    for group in parked.keys {
      parked[group] = parked[group]?.filter { !($0.value.isAtEnd && $0.value.last <= cursor) }
    }
    try add(more, key)
    return true
  }

  private var parkedCount: Int { parked.values.reduce(0) { $0 + $1.count } }

  private mutating func isMixed(_ ledger: JobLedger) throws -> Bool {
    if let hasSeveralProfiles { return hasSeveralProfiles }
    let isMixed = try ledger.hasSeveralProfiles()
    hasSeveralProfiles = isMixed
    return isMixed
  }

  private mutating func add(_ transfers: [LedgerTransfer], _ key: (LedgerTransfer) throws -> Key?) throws {
    for transfer in transfers {
      if let name = try key(transfer) { lines[name, default: TurnLine()].append(transfer) }
    }
  }
}
