import Posix

extension NetworkThread {
  /// Names what is scheduled.
  package struct TimerID: Sendable, Hashable {
    let id = CurlRequestID()
  }

  /// Runs the work on this thread after so many seconds; a shutdown drops it.
  @discardableResult
  package func schedule(after seconds: Double, _ work: @escaping @Sendable () -> Void) -> TimerID {
    let timer = TimerID()
    addTimer(timer, seconds) { due in if due { work() } }
    return timer
  }

  /// Drops what was scheduled; of no effect once it has run.
  package func cancel(_ timer: TimerID) {
    submit(.work { self.timers.remove(timer.id)?(false) })
  }

  /// Waits, and leaves this thread to others meanwhile.
  /// - Throws: `CancellationError` on the task's cancellation or a shutdown, at once.
  package func sleep(
    seconds: Double, isolation: isolated (any Actor)? = #isolation
  ) async throws(CancellationError) {
    let timer = TimerID()
    let isDue = await withTaskCancellationHandler {
      // Naming it keeps this closure on the caller's actor.
      _ = isolation
      return await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
        addTimer(timer, seconds) { continuation.resume(returning: $0) }
        // A cancellation before this point found nothing to drop.
        if Task.isCancelled { cancel(timer) }
      }
    } onCancel: {
      cancel(timer)
    }
    if !isDue { throw CancellationError() }
  }

  private func addTimer(_ timer: TimerID, _ seconds: Double, _ work: @escaping Timers.Work) {
    let deadline = SystemClock.uptime + seconds
    onThread {
      if self.isClosing { work(false) } else { self.timers.add(timer.id, at: deadline, work) }
    }
  }
}
