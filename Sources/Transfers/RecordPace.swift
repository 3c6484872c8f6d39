/// When what is under way is to be recorded: soon at first and seldom later, so that a kill costs a quarter of what was
/// done until then, and at most a second.
///
/// Moments are shared: what several connections bring is recorded in one commit group.
package struct RecordPace: Equatable, Sendable {
  private static let shortest = 1.0 / 32
  private static let longest = 1.0
  /// Of the time since the beginning.
  private static let share = 0.25

  /// Seconds since 1970, as are all moments.
  private let began: Double
  private var last: Double

  /// - Parameter last: when something was recorded last.
  package init(began: Double, last: Double) {
    self.began = began
    self.last = last
  }

  /// Whether it is time; if so, it counts as recorded now.
  package mutating func isDue(at now: Double) -> Bool {
    let interval = Self.interval(after: now - began)
    // A clock that is set back makes it due as well.
    guard (now / interval).rounded(.down) != (last / interval).rounded(.down) else { return false }
    last = now
    return true
  }

  /// Seconds, a power of two: moments of a longer interval are moments of each shorter one.
  static func interval(after elapsed: Double) -> Double {
    var interval = shortest
    while interval < longest, interval * 2 <= elapsed * share { interval *= 2 }
    return interval
  }
}
