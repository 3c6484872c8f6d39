import JobModel

/// A transfer in flight: one of those that its policy's `transfers` allows.
package struct TransferPermit: Sendable {
  package let id: Int
  /// The transfer's place in the plan.
  package let seq: Int64
  /// The transfers that share a policy's limits, by a number.
  package let group: Int
  /// What `connections: auto` may come to at its endpoint.
  package let mostConnections: Int
  /// The host that it asks first, where that host's window bounds `transfers: auto`.
  let host: String?
  /// Scheme, host and port that the transfer asks first; nil where they can't be told.
  package let origin: @Sendable () -> String?
  package let buffers = SharedBuffers()
}

/// Which transfers hold a permit under their policy's `transfers` limit, and the job's. A transfer's permit is free for others while all
/// of its requests wait for their host, and for good at its end.
struct TransferPermits: Sendable {
  /// What a request does with its transfer's permit.
  enum Use: Sendable {
    /// It is sent, or waits in line.
    case working
    /// It waits for its host, or for its next try.
    case suspended
  }

  /// What bounds the transfers that hold permits.
  enum Limit: Sendable, Hashable {
    /// Their number, in each group.
    case transfers(Int)
    /// The requests that they have in flight and in line, one each at least, in each group.
    case requests(Int)
    /// The same, of all groups, by the window of the host that they ask first.
    case window(host: String)

    var countsRequests: Bool {
      if case .transfers = self { false } else { true }
    }
  }

  private enum Pool: Hashable {
    case group(Int)
    case host(String)
  }

  private struct Holder {
    let pool: Pool
    let limit: Limit
    var isHeld = true
    /// It waits for no permit: what it still sends clears up.
    var isCancelled = false
    var working = 0
    var suspended = 0

    var weight: Int { !isHeld ? 0 : limit.countsRequests ? max(1, working) : 1 }
  }

  private var holders: [Int: Holder] = [:]
  private var used: [Pool: Int] = [:]
  private var windows: [String: Int] = [:]
  private var lastID = 0
  /// What the job's `limits` allow all groups together.
  private let most: Int
  private(set) var hasFreed = false
  /// Transfers that hold a permit.
  private(set) var held = 0

  init(most: Int = .max) { self.most = most }

  var allAreHeld: Bool { held == holders.count }

  func hasRoom(_ group: Int, _ limit: Limit) -> Bool { hasRoom(pool(group, limit), limit) }

  private func hasRoom(_ pool: Pool, _ limit: Limit) -> Bool {
    guard held < most else { return false }
    let most =
      switch limit {
      case .transfers(let most): max(1, most)
      case .requests(let most): Self.filling(most)
      case .window(let host): Self.filling(windows[host] ?? ConcurrencyWindow.start)
      }
    return used[pool, default: 0] < most
  }

  private func pool(_ group: Int, _ limit: Limit) -> Pool {
    if case .window(let host) = limit { .host(host) } else { .group(group) }
  }

  /// Requests that keep so many connections busy: some are between two requests, or with their files.
  private static func filling(_ connections: Int) -> Int { connections + connections / 4 + 2 }

  /// As many requests may be under way to those whom a host's transfers ask.
  mutating func setWindow(_ size: Int, of host: String) {
    if size > windows[host] ?? 0 { hasFreed = true }
    windows[host] = size
  }

  /// A transfer begins, and takes a permit.
  ///
  /// - Parameter group: the transfers that it shares a policy's limits with.
  mutating func begin(
    _ seq: Int64, group: Int, _ limit: Limit, mostConnections: Int = 64,
    origin: @escaping @Sendable () -> String? = { nil }
  ) -> TransferPermit {
    lastID += 1
    let pool = pool(group, limit)
    holders[lastID] = Holder(pool: pool, limit: limit)
    count(1, pool)
    held += 1
    var host: String?
    if case .window(let name) = limit { host = name }
    return TransferPermit(
      id: lastID, seq: seq, group: group, mostConnections: mostConnections, host: host, origin: origin)
  }

  mutating func cancel(_ id: Int) { holders[id]?.isCancelled = true }

  mutating func end(_ id: Int) {
    guard let holder = holders.removeValue(forKey: id), holder.isHeld else { return }
    held -= 1
    count(-holder.weight, holder.pool)
  }

  /// One of the transfer's requests does something else with its permit; nil before and after its time.
  mutating func change(_ id: Int?, from old: Use?, to new: Use?) {
    guard let id, old != new, var holder = holders[id] else { return }
    let weight = holder.weight
    holder.working += (new == .working ? 1 : 0) - (old == .working ? 1 : 0)
    holder.suspended += (new == .suspended ? 1 : 0) - (old == .suspended ? 1 : 0)
    if holder.isHeld, holder.working == 0, holder.suspended > 0 {
      holder.isHeld = false
      held -= 1
    }
    holders[id] = holder
    count(holder.weight - weight, holder.pool)
  }

  /// Takes a permit for a transfer that was without one; beyond the limit for one that holds buffers of the run's
  /// budget, as those who hold permits may be waiting for these.
  ///
  /// - Returns: whether the transfer may move bytes now.
  mutating func reacquire(_ id: Int?, holdsBuffers: Bool = false) -> Bool {
    guard let id, var holder = holders[id], !holder.isHeld, !holder.isCancelled else { return true }
    guard holdsBuffers || hasRoom(holder.pool, holder.limit) else { return false }
    holder.isHeld = true
    held += 1
    holders[id] = holder
    count(holder.weight, holder.pool)
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

  private mutating func count(_ change: Int, _ pool: Pool) {
    guard change != 0 else { return }
    used[pool, default: 0] += change
    if change < 0 { hasFreed = true }
  }
}
