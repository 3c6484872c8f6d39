import JobLedger

/// Transfers that wait, first come, first served. Whoever has had a turn is let go of at once: an array's slice would
/// keep all that ever stood in the line.
struct TurnLine {
  private var places: [LedgerTransfer?] = []
  private var head = 0
  /// So many empty places are given back in one go.
  private static let mostEmpty = 256

  var count: Int { places.count - head }
  var isEmpty: Bool { count == 0 }
  var first: LedgerTransfer? { isEmpty ? nil : places[head] }
  var all: [LedgerTransfer] { places[head...].compactMap(\.self) }
  /// Places that memory is held for.
  var room: Int { places.capacity }

  mutating func append(_ transfer: LedgerTransfer) { places.append(transfer) }

  mutating func popFirst() -> LedgerTransfer? {
    guard !isEmpty else { return nil }
    let first = places[head]
    places[head] = nil
    head += 1
    if isEmpty || head >= Self.mostEmpty && head >= count {
      places.removeFirst(head)
      head = 0
    }
    return first
  }
}
