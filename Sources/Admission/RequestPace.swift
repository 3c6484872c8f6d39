/// How fast requests may follow each other to a host that says that they come too fast. A value; times are seconds.
///
/// It starts below what the host has taken, doubles while that goes well, and from its next refusal on stays a little
/// below the rate that was refused, which it nears again slowly, and passes faster. A host that refuses all for a while is
/// asked ever more seldom; once it takes requests again, their rate doubles with each up to what it was.
package struct RequestPace: Sendable {
  /// Requests a second; nil where none was refused.
  package private(set) var rate: Double?
  private enum Phase: Sendable, Equatable {
    /// Doubles: what the host takes is not known.
    case searching
    /// Back to what was taken before the host refused all; nil where that is not known.
    case returning(to: Double?)
    /// Just below what was refused.
    case nearing
  }
  private var phase = Phase.searching
  /// Refusals in a row, behind the first of them; accepted requests in a row.
  private var (refusals, acceptances) = (0, 0)
  private var growth = Self.leastGrowth
  /// Accepted since the rate was last changed.
  private var accepted = 0
  private var since: Double?
  /// When the next request may be sent, and when the last refused one that counts was answered.
  private var next = 0.0
  private var lastRefusal = -Double.infinity

  /// Where nothing is known: twice this within a second.
  private static let start = 4.0
  private static let (slowest, unhurried) = (0.1, 0.5)
  /// Accepted requests that let it double.
  private static let enoughToDouble = 3
  /// Accepted requests, and seconds, that say what a host takes.
  private static let leastSample = (count: 20, seconds: 0.5)
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
    acceptances += 1
    // Only what was used says that more may go: a rest, or a time with little to send, counts for nothing.
    guard Double(accepted) >= rate * (now - since) / 2 else {
      // Answers that take long come late, not seldom.
      if now - since >= max(1, 2 / rate, 4 * (now - begun)) { (accepted, self.since) = (0, now) }
      return
    }
    switch phase {
    case .searching:
      guard accepted >= Self.enoughToDouble else { return }
      self.rate = rate * 2
    case .returning(let goal):
      self.rate = min(rate * 2, goal ?? .infinity)
      if self.rate == goal { phase = .nearing }
    case .nearing:
      guard now - since >= Self.growthTime, accepted >= Self.enoughToGrow else { return }
      self.rate = rate * (1 + growth)
      growth = min(Self.mostGrowth, growth * Self.acceleration)
    }
    accepted = 0
    self.since = now
  }

  /// - Parameters:
  ///   - begun: when the refused request was sent.
  ///   - longest: seconds between two requests, at most.
  package mutating func refused(begun: Double, now: Double, longest: Double = .infinity) {
    guard begun > lastRefusal else { return }
    lastRefusal = now
    let seconds = since.map { now - $0 } ?? 0
    defer { acceptances = 0 }
    if let rate {
      // At this rate one that stands alone is a fault of the host, or of one of many behind it, and no word on the rate.
      guard rate > Self.start || acceptances < Self.enoughToGrow else { return }
      let isRefusingAll = acceptances == 0
      refusals = isRefusingAll ? refusals + 1 : 0
      // A short outage is not to be paid for with long rests: below that rate each counts a quarter.
      guard rate > Self.unhurried || refusals % 4 == 0 else { return startCount(now) }
      self.rate = max(
        Self.slowest, 1 / longest, rate * (phase != .nearing || accepted == 0 ? 0.5 : Self.kept))
      switch (isRefusingAll, phase) {
      case (false, _): phase = .nearing
      case (true, .searching): phase = .returning(to: nil)
      case (true, .nearing): phase = .returning(to: rate)
      case (true, .returning): break
      }
      growth = Self.leastGrowth
    } else {
      let isTold = accepted >= Self.leastSample.count && seconds >= Self.leastSample.seconds
      rate = isTold ? Double(accepted) / seconds / 2 : Self.start
    }
    startCount(now)
  }

  private mutating func startCount(_ now: Double) {
    accepted = 0
    since = now
    next = now + 1 / (rate ?? Self.start)
  }
}
