import Glibc

/// What other threads hand to a network thread. Under a pthread lock: a `Mutex` spins where it is contended.
final class JobQueue: @unchecked Sendable {
  enum Entry {
    case job(UnownedJob)
    case work(@Sendable () -> Void)
  }

  /// What the one who adds must do next.
  enum Next {
    case nothing
    /// The thread may be asleep.
    case wake
    /// The thread has ended.
    case start
  }

  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var entries: [Entry] = []
  private var isWoken = false
  private var hasEnded = true

  init() { pthread_mutex_init(lock, nil) }

  deinit {
    pthread_mutex_destroy(lock)
    lock.deallocate()
  }

  func add(_ entry: Entry) -> Next {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    entries.append(entry)
    if hasEnded {
      hasEnded = false
      isWoken = true
      return .start
    }
    defer { isWoken = true }
    return isWoken ? .nothing : .wake
  }

  /// Swaps what has been added for the emptied array.
  func take(into emptied: inout [Entry]) {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    swap(&entries, &emptied)
    isWoken = false
  }

  /// Whether the thread may end: nothing is left. What comes later starts it again.
  func end() -> Bool {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    hasEnded = entries.isEmpty
    return hasEnded
  }
}
