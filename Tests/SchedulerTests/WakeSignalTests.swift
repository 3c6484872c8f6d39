import Testing

@testable import Scheduler

@Suite(.timeLimit(.minutes(10)))
@MainActor struct WakeSignalTests {
  private let signal = WakeSignal()

  /// Counts what has come behind a wait.
  private final class Passed { var count = 0 }

  @Test func aCallBeforeTheWaitCounts() async {
    let passed = Passed()
    signal.wake()
    signal.wake()
    await signal.wait()
    // The two calls were one: the next wait needs another.
    let waiter = Task {
      await signal.wait()
      passed.count += 1
    }
    for _ in 0..<10 { await Task.yield() }
    #expect(passed.count == 0)
    signal.wake()
    await waiter.value
    #expect(passed.count == 1)
  }
}
