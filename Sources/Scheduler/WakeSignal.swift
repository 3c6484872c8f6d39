/// Wakes its one waiter; a call that comes before the wait counts.
///
/// Used on one actor alone.
final class WakeSignal {
  private var waiter: CheckedContinuation<Void, Never>?
  private var isSet = false

  func wake() {
    isSet = true
    waiter?.resume()
    waiter = nil
  }

  nonisolated(nonsending) func wait() async {
    await withCheckedContinuation { continuation in
      // Others may run on the actor before the continuation is made: what they said counts.
      if isSet { continuation.resume() } else { waiter = continuation }
    }
    isSet = false
  }
}
