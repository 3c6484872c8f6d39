import Glibc

/// A value that one thread at a time may use, behind a pthread lock.
///
/// Takes the place of `Synchronization.Mutex`, which an optimised build must not use from async functions: Swift 6.3 moves
/// the lookup of the thread's own number across a suspension, and the lock is then taken in another thread's name.
final class Locked<Value>: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var value: Value

  init(_ value: consuming sending Value) {
    self.value = value
    pthread_mutex_init(lock, nil)
  }

  deinit {
    pthread_mutex_destroy(lock)
    lock.deallocate()
  }

  /// Calls `body` with the value while no other thread can use it. It is not reentrant.
  func withLock<Result, Fault: Error>(
    _ body: (inout sending Value) throws(Fault) -> sending Result
  ) throws(Fault) -> sending Result {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    return try body(&value)
  }
}
