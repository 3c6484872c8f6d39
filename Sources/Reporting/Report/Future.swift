import Dispatch
import Locks
import Posix

/// A value that another thread makes meanwhile.
package final class Future<Value: Sendable>: Sendable {
  private let result = Locked<Result<Value, any Error>?>(nil)
  private let isMade = DispatchSemaphore(value: 0)

  package init(_ make: @escaping @Sendable () throws -> Value) {
    // A thread of its own: whoever waits may hold one of the few that are shared.
    DedicatedThread.start { [self] in
      let made = Result { try make() }
      result.withLock { $0 = made }
      isMade.signal()
    }
  }

  /// Waits for it; asked once.
  package func value() throws -> Value {
    isMade.wait()
    guard let made = result.withLock({ $0 }) else {
      preconditionFailure("the semaphore is raised by a result")
    }
    return try made.get()
  }
}
