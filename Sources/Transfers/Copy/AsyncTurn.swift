/// One at a time, in the order of coming. Belongs to one actor.
final class AsyncTurn {
  private var isTaken = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  nonisolated(nonsending) func take() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiters.append($0) }
  }

  func leave() {
    if waiters.isEmpty { isTaken = false } else { waiters.removeFirst().resume() }
  }
}
