import Testing

@testable import TransferEngine

struct WakeSignalTests {
  @MainActor @Test func aCallBeforeTheWaitCounts() async {
    let signal = WakeSignal()
    signal.wake()
    signal.wake()
    await signal.wait()
    let waiter = Task { @MainActor in await signal.wait() }
    await Task.yield()
    signal.wake()
    await waiter.value
  }
}
