/// The sessions that an upload has lost, one after the other without getting further.
struct SessionLosses {
  private(set) var count = 0
  /// Bytes that a session held at most that took the place of another.
  private var mostHeld: Int64 = 0

  mutating func add() { count += 1 }

  /// A session has taken the place of another, and holds so much: one that got further than all before it was of use.
  mutating func replaced(holding bytes: Int64) {
    if bytes > mostHeld { (mostHeld, count) = (bytes, 0) }
  }
}
