/// A transfer in flight: one of those that its policy's `transfers` allows.
package struct TransferPermit: Sendable {
  package let id: Int
  /// The transfer's place in the plan.
  package let seq: Int64
  /// The transfers that share a policy's limits, by a number.
  package let group: Int
  /// Scheme, host and port that the transfer asks first; nil where they can't be told.
  package let origin: @Sendable () -> String?
}

/// Which transfers hold a permit under their policy's `transfers` limit. A transfer's permit is free for others while all
/// of its requests wait for their host, and for good at its end.
struct TransferPermits: Sendable {
  /// What a request does with its transfer's permit.
  enum Use: Sendable {
    /// It is sent, or waits in line.
    case working
    /// It waits for its host, or for its next try.
    case suspended
  }

  private struct Holder {
    let group: Int
    let limit: Int
    var isHeld = true
    /// It waits for no permit: what it still sends clears up.
    var isCancelled = false
    var working = 0
    var suspended = 0
  }

  private var holders: [Int: Holder] = [:]
  private var used: [Int: Int] = [:]
  private var lastID = 0
  private(set) var hasFreed = false

  func hasRoom(_ group: Int, limit: Int) -> Bool { used[group, default: 0] < max(1, limit) }

  /// A transfer begins, and takes a permit.
  ///
  /// - Parameters:
  ///   - group: the transfers that it shares a policy's limits with; `limit` of them may be in flight.
  mutating func begin(
    _ seq: Int64, group: Int, limit: Int, origin: @escaping @Sendable () -> String? = { nil }
  ) -> TransferPermit {
    lastID += 1
    holders[lastID] = Holder(group: group, limit: limit)
    used[group, default: 0] += 1
    return TransferPermit(id: lastID, seq: seq, group: group, origin: origin)
  }

  mutating func cancel(_ id: Int) { holders[id]?.isCancelled = true }

  mutating func end(_ id: Int) {
    if let holder = holders.removeValue(forKey: id), holder.isHeld { free(holder.group) }
  }

  /// One of the transfer's requests does something else with its permit; nil before and after its time.
  mutating func change(_ id: Int?, from old: Use?, to new: Use?) {
    guard let id, old != new, var holder = holders[id] else { return }
    holder.working += (new == .working ? 1 : 0) - (old == .working ? 1 : 0)
    holder.suspended += (new == .suspended ? 1 : 0) - (old == .suspended ? 1 : 0)
    let isIdle = holder.isHeld && holder.working == 0 && holder.suspended > 0
    if isIdle { holder.isHeld = false }
    holders[id] = holder
    if isIdle { free(holder.group) }
  }

  /// Takes a permit for a transfer that was without one.
  ///
  /// - Returns: whether the transfer may move bytes now.
  mutating func reacquire(_ id: Int?) -> Bool {
    guard let id, let holder = holders[id], !holder.isHeld, !holder.isCancelled else { return true }
    guard hasRoom(holder.group, limit: holder.limit) else { return false }
    used[holder.group, default: 0] += 1
    holders[id]?.isHeld = true
    return true
  }

  /// Whether the transfer would have to reacquire its permit.
  func lacks(_ id: Int?) -> Bool {
    id.flatMap { holders[$0] }.map { !$0.isHeld && !$0.isCancelled } ?? false
  }

  /// Whether a permit has come free since the last call.
  mutating func takeFreed() -> Bool {
    defer { hasFreed = false }
    return hasFreed
  }

  private mutating func free(_ group: Int) {
    used[group, default: 0] -= 1
    hasFreed = true
  }
}
