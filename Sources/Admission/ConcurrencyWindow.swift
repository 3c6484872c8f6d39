/// How many requests at a time one host gets under `auto`: found by trials. A value; times are seconds.
///
/// It measures in rounds, each as many requests as the window is wide. By Little's law a full window of `size` requests
/// of `duration` each moves `size / duration` requests a second. A trial measures one round at another size, and stays
/// there where that pays: the size doubles until it does not, and goes in steps of a quarter from then on.
package struct ConcurrencyWindow: Sendable {
  /// What one round moved.
  private struct Rate {
    /// Requests a second.
    var requests: Double
    /// Bytes a second.
    var bytes: Double

    /// How many times as much as another one.
    func ratio(to other: Rate) -> Double {
      // What small bodies cost is their number; of large ones each may have another length.
      isOfLarge && other.isOfLarge ? bytes / other.bytes : requests / other.requests
    }

    private var isOfLarge: Bool { bytes > requests * 65_536 }
  }

  private struct Round {
    let began: Double
    /// Requests that filled the window when they were sent.
    var filling = 0
    var ended = 0
    var seconds = 0.0
    var squares = 0.0
    var bytes = 0.0

    mutating func count(seconds: Double, bytes: Int64) {
      ended += 1
      self.seconds += seconds
      squares += seconds * seconds
      self.bytes += Double(bytes)
    }

    /// Whether the mean of a request's seconds is known well enough: its standard error, squared, is a twentieth's.
    var isTelling: Bool {
      let (count, mean) = (Double(ended), seconds / Double(ended))
      return squares / count - mean * mean <= count * mean * mean / 400
    }
  }

  private enum Phase {
    /// The size is as it was found; so many rounds until the next trial.
    case holding(rounds: Int)
    /// A round at another size than this one, with what was measured here.
    case trying(from: Int, Rate)
  }

  package enum Decrease: Sendable, Hashable {
    /// The window is as it was before the trial.
    case undone
    case halved
    /// One request at a time is the least.
    case none
  }

  package static let start = 8
  private static let factor = 2.0
  private static let step = 1.25
  /// What growth must bring: a twentieth for twice as many requests, and as much of a step as noise lets see.
  private static let gain = 1.05
  private static let stepGain = 1.06
  /// What a smaller window must keep.
  private static let kept = 0.98
  /// Requests that say something of a mean.
  private static let least = 4
  /// Seconds of a round: on a near host many requests, as a few say little; and where they differ, more of them.
  private static let (shortest, longest) = (0.05, 0.25)
  /// As many requests at a time as a host needs whose answers take less than so many seconds: more of them cost memory.
  private static let (mostNear, near) = (64, 0.08)
  private static let patience = 4
  private static let mostPatience = 64

  /// Requests at a time.
  package private(set) var size: Int
  private var ceiling: Int
  private var phase = Phase.holding(rounds: 0)
  private var round: Round?
  private var reference: Rate?
  /// Trials that may still fail before the size no longer doubles: one may be chance.
  private var doublings = 2
  private var isStarting: Bool { doublings > 0 }
  /// The next trial is of a smaller window.
  private var triesLess = false
  private var patience = Self.patience
  private var lastDecrease = -Double.infinity
  /// The size before the host said that there were too many; nil once it is back there.
  private var before: Int?

  /// - Parameter known: what a run before found.
  package init(known: Int? = nil, ceiling: Int) {
    self.ceiling = max(1, ceiling)
    size = min(max(1, known ?? Self.start), self.ceiling)
  }

  /// The most that it may come to; the highest of those that ask.
  mutating func raise(ceiling: Int) { self.ceiling = max(self.ceiling, ceiling) }

  package func hasRoom(_ inFlight: Int) -> Bool { inFlight < size }

  /// Whether the host has yet to show that it takes so many.
  package var isTrying: Bool {
    if case .trying(let from, _) = phase { return from < size }
    return reference == nil && isStarting
  }

  /// A request is sent.
  ///
  /// - Parameter inFlight: requests under way to the host, this one among them.
  package mutating func admitted(inFlight: Int, now: Double) {
    if round == nil { round = Round(began: now) }
    if inFlight >= size { round?.filling += 1 }
  }

  /// A request has come to its end, which the host itself brought about.
  ///
  /// - Parameter bytes: of its bodies.
  /// - Returns: whether the size is another one now.
  package mutating func ended(begun: Double, now: Double, bytes: Int64) -> Bool {
    // One from before was sent beside others than it ended beside.
    guard let began = round?.began, begun >= began else { return false }
    round?.count(seconds: max(0, now - begun), bytes: bytes)
    guard let round, round.ended >= max(size, Self.least), now - began >= Self.shortest, round.seconds > 0,
      round.isTelling || now - began >= Self.longest
    else { return false }
    self.round = nil
    // Where there was no more to send, it says nothing of the window.
    guard round.filling * 2 >= round.ended else { return false }
    let before = size
    judge(
      Rate(
        requests: Double(size * round.ended) / round.seconds,
        bytes: Double(size) * round.bytes / round.seconds))
    return size != before
  }

  private mutating func judge(_ rate: Rate) {
    switch phase {
    case .holding(let rounds):
      reference = rate
      phase = .holding(rounds: rounds - 1)
      if rounds <= 1 { tryAnother(rate) }
    case .trying(let from, let known):
      let ratio = rate.ratio(to: known)
      let grew = Double(size) / Double(from)
      let needed = grew >= Self.factor ? Self.gain : Self.stepGain
      if grew > 1 ? ratio >= needed : ratio >= Self.kept {
        patience = Self.patience
        reference = rate
        phase = .holding(rounds: 0)
        tryAnother(rate)
      } else {
        size = from
        doublings = max(0, doublings - 1)
        guard !isStarting else { return phase = .holding(rounds: 1) }
        triesLess.toggle()
        hold()
      }
    }
  }

  /// Waits longer after each trial in vain.
  private mutating func hold() {
    phase = .holding(rounds: patience)
    patience = min(patience * 2, Self.mostPatience)
  }

  private mutating func tryAnother(_ rate: Rate) {
    let from = size
    let isNear = Double(size) / rate.requests < Self.near
    let ceiling = isNear ? max(size, min(ceiling, Self.mostNear)) : ceiling
    if triesLess, !isStarting {
      size = max(min(Self.start, from), Int(Double(from) / Self.step))
    } else {
      size = min(ceiling, max(from + 1, Int(Double(from) * (isStarting ? Self.factor : Self.step))))
    }
    guard size != from else {
      // There is nothing more to try this way.
      triesLess = !(triesLess && !isStarting)
      doublings = 0
      return hold()
    }
    phase = .trying(from: from, rate)
  }

  /// The host said that there are too many, or took too long, or refused a connection. A trial that brought it is undone;
  /// else the window is halved, once for all requests that were under way.
  ///
  /// - Parameter begun: when that request was sent.
  /// - Returns: what it came to; nil for a request from before the last decrease.
  package mutating func refused(begun: Double, now: Double, inFlight: Int) -> Decrease? {
    guard begun >= lastDecrease else { return nil }
    lastDecrease = now
    var decrease = Decrease.undone
    if case .trying(let from, _) = phase, from < size {
      size = from
    } else {
      let wide = size
      size = max(1, min(size, max(inFlight, 1)) / 2)
      before = max(before ?? 0, wide)
      decrease = size < wide ? .halved : .none
    }
    round = nil
    doublings = 0
    triesLess = false
    hold()
    return decrease
  }

  /// A gateway answered for a host that it did not reach (502, 504). What was tried is undone, so that the next failures are
  /// not taken for the trial's; a size that had been found stays.
  ///
  /// - Parameter begun: when that request was sent.
  package mutating func failed(begun: Double, now: Double) {
    guard begun >= lastDecrease, isTrying else { return }
    lastDecrease = now
    if case .trying(let from, _) = phase { size = from }
    round = nil
    doublings = 0
    hold()
  }

  /// Whether the window is back where it was before the host said that there were too many; true once.
  package mutating func hasRecovered() -> Bool {
    guard let before, size >= before else { return false }
    self.before = nil
    return true
  }
}
