/// How many requests at a time one host gets: halved when it says that there are too many, wider by one for each window
/// of answers (additive increase, multiplicative decrease).
package struct AIMDWindow: Sendable {
  /// Requests at a time; infinite where only the policy's limits count.
  package private(set) var size: Double
  private var lastDecrease = 0.0

  package init(size: Double? = nil) { self.size = size ?? .infinity }

  package func hasRoom(_ inFlight: Int) -> Bool { Double(inFlight) < max(1, size.rounded(.down)) }

  /// - Returns: whether this answer made the window as wide as the policy's own limit, which counts from then on.
  package mutating func widen(limit: Int) -> Bool {
    guard size.isFinite else { return false }
    size += 1 / size
    guard size >= Double(limit) else { return false }
    size = .infinity
    return true
  }

  /// Halves what is in flight, once for all requests that were under way.
  ///
  /// - Parameter begun: when the refused request was sent.
  /// - Returns: whether the window is smaller than before; nil for a request from before the last decrease.
  package mutating func narrow(begun: Double, now: Double, inFlight: Int) -> Bool? {
    guard begun >= lastDecrease else { return nil }
    lastDecrease = now
    let before = size
    size = max(1, (min(size, Double(max(inFlight, 1))) / 2).rounded(.down))
    return size < before
  }
}
