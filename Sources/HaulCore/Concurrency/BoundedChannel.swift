import Dispatch
import Locks
import Posix

/// A channel between two threads that holds a few elements: the producer waits while it is full. Each hand-over may wake
/// a thread, so elements are best batches.
final class BoundedChannel<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var end: Result<Void, any Error>?
    var isAbandoned = false
  }
  static var capacity: Int { 4 }
  private let state = Locked(State())
  private let filled = DispatchSemaphore(value: 0)
  // Raised from nothing: a semaphore may not end lower than it began.
  private let room = DispatchSemaphore(value: 0)

  /// Calls `use` here with each element that `make` gives on a thread of its own, in order.
  ///
  /// - Returns: what `make` returns.
  /// - Throws: what either throws; the other is ended.
  static func run<Value: Sendable>(
    make: @escaping @Sendable (_ give: (Element) throws -> Void) throws -> Value,
    use: (Element) throws -> Void
  ) throws -> Value {
    let channel = BoundedChannel<Element>()
    let result = OnceValue<Value>()
    DedicatedThread.start {
      channel.close(Result { result.set(try make(channel.put)) })
    }
    do {
      while let element = try channel.take() { try use(element) }
    } catch {
      channel.abandon()
      throw error
    }
    // Set before the channel was closed.
    guard let value = result.value else { throw Abandoned() }
    return value
  }

  private init() {
    for _ in 0..<Self.capacity { room.signal() }
  }

  private func put(_ element: Element) throws {
    if state.withLock({ $0.isAbandoned }) { throw Abandoned() }
    room.wait()
    try state.withLock { state in
      guard !state.isAbandoned else { throw Abandoned() }
      state.elements.append(element)
    }
    filled.signal()
  }

  private func close(_ end: Result<Void, any Error>) {
    state.withLock { $0.end = end }
    filled.signal()
  }

  /// Nil at the end.
  private func take() throws -> Element? {
    filled.wait()
    let element = try state.withLock { state -> Element? in
      if !state.elements.isEmpty { return state.elements.removeFirst() }
      try state.end?.get()
      return nil
    }
    room.signal()
    return element
  }

  /// Lets the maker go on to its next step, where it ends, and waits for it.
  private func abandon() {
    state.withLock { $0.isAbandoned = true }
    room.signal()
    while state.withLock({ $0.end == nil }) { filled.wait() }
  }
}

private struct Abandoned: Error {}
