import Curl

/// Lets requests begin as their rate limits can feed them, in the order of coming.
///
/// Used on the network thread alone, hence sendable to it.
final class RateGate: @unchecked Sendable {
  private struct Waiter {
    let id: Int
    let limits: [RateLimit]
    let continuation: CheckedContinuation<Bool, Never>
  }
  private let thread: NetworkThread
  private var waiters: [Waiter] = []
  private var last = 0
  private var isLooking = false
  /// A rate may be raised while somebody waits.
  private static let look = 0.2

  init(thread: NetworkThread) { self.thread = thread }

  /// Waits until the limits can feed one more request, which `leave` ends.
  ///
  /// - Throws: `CancellationError`.
  nonisolated(nonsending) func enter(_ limits: [RateLimit]) async throws {
    guard !limits.isEmpty else { return }
    if !waiters.contains(where: { $0.limits.contains { limit in limits.contains { $0 === limit } } }),
      RateLimit.open(limits)
    {
      return
    }
    last += 1
    let id = last
    let isOpen = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(returning: false) }
        waiters.append(Waiter(id: id, limits: limits, continuation: continuation))
        // What it waits for may have come before it was in the list.
        serve()
      }
    } onCancel: {
      thread.schedule(after: 0) { [self] in
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: index).continuation.resume(returning: false)
      }
    }
    guard isOpen else { throw CancellationError() }
  }

  func leave(_ limits: [RateLimit]) {
    guard !limits.isEmpty else { return }
    for limit in limits { limit.close() }
    serve()
  }

  private func serve() {
    var left: [Waiter] = []
    for waiter in waiters {
      if RateLimit.open(waiter.limits) {
        waiter.continuation.resume(returning: true)
      } else {
        left.append(waiter)
      }
    }
    waiters = left
    guard !waiters.isEmpty, !isLooking else { return }
    isLooking = true
    thread.schedule(after: Self.look) { [self] in
      isLooking = false
      serve()
    }
  }
}
