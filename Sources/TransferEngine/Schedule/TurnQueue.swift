import JobLedger
import JobModel

/// The queued transfers of a plan, read a page at a time and lined up by the policy they share turns with, so that a
/// policy whose turns are all taken holds up nobody else's.
struct TurnQueue {
  typealias Key = PolicyGroup.Key
  private struct Line {
    var transfers: ArraySlice<LedgerTransfer> = []
    /// Profiles of it that are read by themselves, and how far: the common reading leaves them out.
    var parked: [Int64: Int64] = [:]
  }
  private var lines: [Key: Line] = [:]
  private var cursor: Int64 = 0
  /// What the ids of all that may have a turn begin with.
  private let prefix: String
  private var reachedEnd = false
  private static let page = 256
  /// A line that is longer waits without being read on.
  private static let enough = 64
  private static let mostWaiting = 8192
  private static let mostParked = 500

  /// Reads from the beginning: what was queued may be other than it was.
  mutating func reset() { self = TurnQueue(prefix: prefix) }

  init(prefix: String) { self.prefix = prefix }

  /// Takes out of it those that were read already and wait under a policy.
  mutating func remove(_ key: Key) -> [LedgerTransfer] {
    defer { lines[key]?.transfers = [] }
    return Array(lines[key]?.transfers ?? [])
  }

  /// The next transfer whose turn may come; nil where there is none now.
  ///
  /// - Parameters:
  ///   - blocked: profiles that must wait for others.
  ///   - key: which line a transfer belongs to; nil for one that has no turn.
  ///   - isFree: whether a line's policy has a turn left.
  mutating func next(
    _ ledger: JobLedger, blocked: Set<Int64>, key: (LedgerTransfer) throws -> Key?, isFree: (Key) -> Bool
  ) throws -> LedgerTransfer? {
    while true {
      let free = lines.filter { !$0.value.transfers.isEmpty && isFree($0.key) }
      if let first = free.min(by: {
        ($0.value.transfers.first?.seq ?? 0) < ($1.value.transfers.first?.seq ?? 0)
      }) {
        return lines[first.key]?.transfers.popFirst()
      }
      if try readParked(ledger, blocked: blocked, key: key, isFree: isFree) { continue }
      guard !reachedEnd, try readOn(ledger, blocked: blocked, key: key, isFree: isFree) else { return nil }
    }
  }

  /// Reads the next page of lines that have a turn free and are read by themselves.
  private mutating func readParked(
    _ ledger: JobLedger, blocked: Set<Int64>, key: (LedgerTransfer) throws -> Key?, isFree: (Key) -> Bool
  ) throws -> Bool {
    var found = false
    for (name, line) in lines where !line.parked.isEmpty && isFree(name) {
      for (profile, last) in line.parked where last < .max && !blocked.contains(profile) {
        let more = try ledger.queued(profile: profile, after: last, limit: Self.page)
        lines[name]?.parked[profile] = more.count == Self.page ? more.last?.seq ?? .max : .max
        try add(more, key)
        found = found || !more.isEmpty
      }
    }
    return found
  }

  /// Reads the next page of the plan; false where enough waits already.
  private mutating func readOn(
    _ ledger: JobLedger, blocked: Set<Int64>, key: (LedgerTransfer) throws -> Key?, isFree: (Key) -> Bool
  ) throws -> Bool {
    let waiting = lines.values.reduce(0) { $0 + $1.transfers.count }
    if waiting >= Self.enough {
      // A full line that is long is left out of the reading, for those behind it under other policies.
      guard waiting < Self.mostWaiting, try ledger.hasSeveralProfiles() else { return false }
      for (name, line) in lines where line.transfers.count >= Self.enough && !isFree(name) {
        for profile in Set(line.transfers.map(\.profile)) where line.parked[profile] == nil {
          lines[name]?.parked[profile] = cursor
        }
      }
    }
    let parked = lines.values.flatMap(\.parked.keys)
    guard parked.count < Self.mostParked else { return false }
    let more = try ledger.queued(
      after: cursor, excluding: blocked.union(parked), prefix: prefix, limit: Self.page)
    cursor = more.last?.seq ?? cursor
    reachedEnd = more.isEmpty
    try add(more, key)
    return true
  }

  private mutating func add(_ transfers: [LedgerTransfer], _ key: (LedgerTransfer) throws -> Key?) throws {
    for transfer in transfers {
      if let name = try key(transfer) { lines[name, default: Line()].transfers.append(transfer) }
    }
  }
}
