/// A transfer's place among those that its policy has in flight. It is lent to others while nothing of the transfer
/// moves and it only waits for its host, and given back once at the end.
///
/// Used on the transport's executor alone, hence sendable to it.
package final class Slot: @unchecked Sendable {
  /// Whose it is: the transfer's place in the plan.
  let seq: Int64
  let key: PolicyGroup.Key
  let connections: ConnectionUse
  /// Scheme, host and port that the transfer asks first; nil where they can't be told.
  let origin: @Sendable () -> String?
  private let give: () -> Void
  /// Calls back, at once or later, with a place that has been taken.
  private let take: (Slot) -> Void
  private var isHeld = true
  private var isAsking = false
  private var isOver = false
  private var isCancelled = false
  private var moving = 0
  private var parked = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(
    _ seq: Int64, _ key: PolicyGroup.Key, connections: ConnectionUse,
    origin: @escaping @Sendable () -> String? = { nil }, give: @escaping () -> Void,
    take: @escaping (Slot) -> Void
  ) {
    self.seq = seq
    self.key = key
    self.connections = connections
    self.origin = origin
    self.give = give
    self.take = take
  }

  /// Before a request: waits for a place where it has been lent.
  ///
  /// Once cancelled it waits for nothing: what is still sent then clears up.
  nonisolated(nonsending) func begin() async {
    moving += 1
    while !isHeld, !isOver, !isCancelled {
      if !isAsking {
        isAsking = true
        take(self)
      }
      if isHeld { break }
      await withCheckedContinuation { continuation in
        if isHeld || isOver || isCancelled { continuation.resume() } else { waiting.append(continuation) }
      }
    }
  }

  /// A request whose place was lent goes on: takes it back, or asks for it.
  ///
  /// - Returns: whether it may move; else it is to end, and `begin` waits for the place.
  func reclaim() -> Bool {
    parked -= 1
    moving += 1
    if !isHeld, !isOver, !isCancelled, !isAsking {
      isAsking = true
      take(self)
    }
    return isHeld || isOver || isCancelled
  }

  /// After a request.
  func end() {
    moving -= 1
    lend()
  }

  /// Waits for nothing that the network would bring: others may have the place.
  func park() {
    parked += 1
    lend()
  }

  func unpark() { parked -= 1 }

  /// The place that was asked for.
  func granted() {
    isAsking = false
    guard !isOver, !isCancelled else { return give() }
    isHeld = true
    wake()
    // Who asked may have gone meanwhile.
    lend()
  }

  /// Lets go of whatever waits here: the transfer's task has been cancelled.
  func cancel() {
    isCancelled = true
    wake()
  }

  /// The transfer needs the network no more.
  func release() {
    guard !isOver else { return }
    isOver = true
    if isHeld {
      isHeld = false
      give()
    }
    wake()
  }

  private func lend() {
    guard isHeld, !isOver, moving == 0, parked > 0 else { return }
    isHeld = false
    give()
  }

  private func wake() {
    let all = waiting
    waiting = []
    for continuation in all { continuation.resume() }
  }
}
