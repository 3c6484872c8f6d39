import Synchronization

/// Bytes that one exchange has moved, counted while it runs.
final class Tally: Sendable {
  private let received = Atomic<Int>(0)
  private let sent = Atomic<Int>(0)

  /// The request's body is being read, or was.
  let isReading = Atomic<Bool>(false)

  /// The chunk that the exchange was about; -1 where none.
  let chunk = Atomic<Int>(-1)

  var bytesIn: Int { received.load(ordering: .relaxed) }
  var bytesOut: Int { sent.load(ordering: .relaxed) }

  func addIn(_ count: Int) { received.wrappingAdd(count, ordering: .relaxed) }
  func addOut(_ count: Int) { sent.wrappingAdd(count, ordering: .relaxed) }
}
