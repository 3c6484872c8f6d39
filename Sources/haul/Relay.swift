import Dispatch
import Synchronization

/// Hands what one thread makes on to another that uses it, so that both work at a time: whoever makes is at most a few
/// batches ahead.
final class Relay<Element: Sendable>: Sendable {
  private struct State {
    var batches: [[Element]] = []
    var end: Result<Void, any Error>?
    var isAbandoned = false
  }
  private static var batch: Int { 128 }
  private static var ahead: Int { 4 }
  private let state = Mutex(State())
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
      relay.close(Result { result.set(try relay.fill(make)) })
    }
    do {
      while let batch = try relay.take() { for element in batch { try use(element) } }
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

  private func fill<Value>(_ make: ((Element) throws -> Void) throws -> Value) throws -> Value {
    var batch: [Element] = []
    let value = try make { element in
      batch.append(element)
      guard batch.count >= Self.batch else { return }
      try put(batch)
      batch.removeAll(keepingCapacity: true)
    }
    try put(batch)
    return value
  }

  private func put(_ batch: [Element]) throws {
    if state.withLock({ $0.isAbandoned }) { throw Abandoned() }
    room.wait()
    try state.withLock { state in
      guard !state.isAbandoned else { throw Abandoned() }
      state.batches.append(batch)
    }
    filled.signal()
  }

  private func close(_ end: Result<Void, any Error>) {
    state.withLock { $0.end = end }
    filled.signal()
  }

  /// Nil at the end.
  private func take() throws -> [Element]? {
    filled.wait()
    let batch = try state.withLock { state -> [Element]? in
      if !state.batches.isEmpty { return state.batches.removeFirst() }
      try state.end?.get()
      return nil
    }
    room.signal()
    return batch
  }

  /// Lets the maker go on to its next step, where it ends, and waits for it.
  private func abandon() {
    state.withLock { $0.isAbandoned = true }
    room.signal()
    while state.withLock({ $0.end == nil }) { filled.wait() }
  }
}

private struct Abandoned: Error {}
