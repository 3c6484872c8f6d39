/// How fast requests may follow each other to a host that says that they come too fast. A value; times are seconds.
///
/// It starts below what the host has taken, doubles while that goes well, and from its next refusal on stays a little
/// below the rate that was refused, which it nears again slowly, and passes faster.
package struct RequestPace: Sendable {
  /// Requests a second; nil where none was refused.
  package private(set) var rate: Double?
  private var isDoubling = true
  private var growth = Self.leastGrowth
  /// Accepted since the rate was last changed.
  private var accepted = 0
  private var since: Double?
  /// When the next request may be sent, and when the last refused one that counts was answered.
  private var next = 0.0
  private var lastRefusal = -Double.infinity

  /// Where nothing is known: twice this within a second.
  private static let start = 4.0
  private static let slowest = 0.1
  /// Accepted requests that let it double.
  private static let enoughToDouble = 3
  /// Accepted requests, and seconds, that say what a host takes.
  private static let telling = (count: 20, seconds: 0.5)
  /// What is left of a rate that was refused.
  private static let kept = 0.9
  /// The share that it grows by after so many accepted requests, in no less than so many seconds: more each time.
  private static let (leastGrowth, mostGrowth, acceleration) = (0.015, 0.5, 1.25)
  private static let (enoughToGrow, growthTime) = (5, 0.5)

  package init() {}

  /// When the next request may be sent; nil for now.
  package func wait(now: Double) -> Double? { rate != nil && next > now ? next : nil }

  package mutating func admitted(now: Double) {
    if since == nil { since = now }
    guard let rate else { return }
    next = max(now, next) + 1 / rate
  }

  /// - Parameter begun: when the accepted request was sent.
  package mutating func accepted(begun: Double, now: Double) {
    guard let rate else {
      accepted += 1
      return
    }
    guard let since, begun >= since else { return }
    accepted += 1
    // Only what was used says that more may go: a rest, or a time with little to send, counts for nothing.
    guard Double(accepted) >= rate * (now - since) / 2 else {
      // Answers that take long come late, not seldom.
      if now - since >= max(1, 2 / rate, 4 * (now - begun)) { (accepted, self.since) = (0, now) }
      return
    }
    if isDoubling {
      guard accepted >= Self.enoughToDouble else { return }
      self.rate = rate * 2
    } else {
      guard now - since >= Self.growthTime, accepted >= Self.enoughToGrow else { return }
      self.rate = rate * (1 + growth)
      growth = min(Self.mostGrowth, growth * Self.acceleration)
    }
    accepted = 0
    self.since = now
  }

  /// - Parameter begun: when the refused request was sent.
  package mutating func refused(begun: Double, now: Double) {
    guard begun > lastRefusal else { return }
    lastRefusal = now
    let seconds = since.map { now - $0 } ?? 0
    if let rate {
      self.rate = max(Self.slowest, rate * (isDoubling || accepted == 0 ? 0.5 : Self.kept))
      isDoubling = false
      growth = Self.leastGrowth
    } else {
      let isTold = accepted >= Self.telling.count && seconds >= Self.telling.seconds
      rate = isTold ? Double(accepted) / seconds / 2 : Self.start
    }
    accepted = 0
    since = now
    next = now + 1 / (rate ?? Self.start)
  }
}
