/// A rate that follows what happens but does not flicker: an average that forgets within some seconds.
package struct RateMeter: Sendable {
  /// Seconds after which a sample counts for a third.
  private static let memory = 4.0
  private var last: (time: Double, bytes: Int64)?
  /// Bytes a second; nil until two samples lie apart.
  package private(set) var rate: Double?

  package init() {}

  /// - Parameter most: bytes that can have moved since the last sample; a transfer that goes on where an
  ///   earlier attempt ended begins with a leap that nothing moved.
  package mutating func sample(_ bytes: Int64, at time: Double, most: Int64 = .max) {
    guard let last else {
      self.last = (time, bytes)
      return
    }
    let elapsed = time - last.time
    guard elapsed >= 0.05 else { return }
    let moved = min(max(0, bytes - last.bytes), most)
    let current = Double(moved) / elapsed
    let weight = 1 - exponential(-elapsed / Self.memory)
    rate = rate.map { $0 + weight * (current - $0) } ?? current
    self.last = (time, bytes)
  }

  /// eˣ for x ≤ 0, to a few digits: (1 + x/1024)^1024.
  private func exponential(_ x: Double) -> Double {
    var value = max(0, 1 + x / 1024)
    for _ in 0..<10 { value *= value }
    return value
  }
}
