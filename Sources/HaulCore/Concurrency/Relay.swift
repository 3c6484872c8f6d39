import Dispatch
import Locks

/// Hands what one thread makes on to another that uses it, so that both work at a time: whoever makes is at most a few
/// elements ahead. Each hand-over may wake a thread: elements are best batches.
final class Relay<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var end: Result<Void, any Error>?
    var isAbandoned = false
  }
  private static var ahead: Int { 4 }
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
    let relay = Relay<Element>()
    let result = Latch<Value>()
    OwnThread.start {
      relay.close(Result { result.set(try make(relay.put)) })
    }
    do {
      while let element = try relay.take() { try use(element) }
    } catch {
      relay.abandon()
      throw error
    }
    // Set before the relay was closed.
    guard let value = result.value else { throw Abandoned() }
    return value
  }

  private init() {
    for _ in 0..<Self.ahead { room.signal() }
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
