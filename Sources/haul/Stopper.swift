import Synchronization
import TransferEngine

/// Brings a wish to stop to the engine, whichever of the two is there first.
final class Stopper: Sendable {
  private struct State {
    var cause: StopCause?
    var deliver: (@Sendable (StopCause) -> Void)?
  }
  private let state = Mutex(State())

  var cause: StopCause? { state.withLock { $0.cause } }

  func stop(_ cause: StopCause) {
    let deliver = state.withLock { state in
      if state.cause == nil { state.cause = cause }
      return state.deliver
    }
    deliver?(cause)
  }

  func attach(_ deliver: @escaping @Sendable (StopCause) -> Void) {
    let early = state.withLock { state in
      state.deliver = deliver
      return state.cause
    }
    if let early { deliver(early) }
  }
}

/// A value that is set once.
final class Latch<Value: Sendable>: Sendable {
  private let content = Mutex<Value?>(nil)
  var value: Value? { content.withLock { $0 } }
  func set(_ value: Value) { content.withLock { if $0 == nil { $0 = value } } }
}
