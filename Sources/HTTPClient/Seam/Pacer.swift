import Admission
import Curl
import JobModel
import Posix

/// Holds requests up as rate limits say, on the network thread, with one timer for all of them.
///
/// Used on the network thread alone, hence sendable to it.
final class Pacer: @unchecked Sendable {
  private let thread: NetworkThread
  private var line = PaceLine()
  private var turns: [Int: () -> Void] = [:]
  private var timer: NetworkThread.TimerID?
  /// Whether any connection's buffer was ever fitted to a rate.
  fileprivate var hasFitted = false
  /// A rate may be raised while somebody waits at the old one.
  private static let longestLook = 0.2

  init(thread: NetworkThread) { self.thread = thread }

  /// Asks for `count` bytes; nil where they may go at once, else the place in the line, and `turn` is called later.
  func ask(_ count: Int, under limits: [RateLimit], turn: @escaping () -> Void) -> Int? {
    guard let place = line.ask(count, under: limits, now: SystemClock.uptime) else { return nil }
    turns[place] = turn
    if timer == nil { look() }
    return place
  }

  func leave(_ place: Int) {
    line.leave(place)
    turns[place] = nil
  }

  private func look() {
    guard let next = line.next(now: SystemClock.uptime) else { return }
    timer = thread.schedule(after: min(max(0, next), Self.longestLook)) { [self] in
      timer = nil
      for place in line.due(now: SystemClock.uptime) { turns.removeValue(forKey: place)?() }
      if timer == nil { look() }
    }
  }
}

/// One request's part in it: how many bytes it has paid for and not yet moved.
///
/// Used on the network thread alone, hence sendable to it.
final class Pace: @unchecked Sendable {
  private let pacer: Pacer
  private let thread: NetworkThread
  private let throttle: Throttle?
  var id: CurlRequestID?
  private let fit: (Double) -> ReceiveWindow
  private var paid = 0
  private var place: Int?
  /// The rate that the connection's buffer is fitted to; a kept connection may come with any.
  private var fitted: Double?
  private var isFitted = false
  /// Whose bytes stand still once a budget is used up; nil for a request that only asks or clears up.
  private let budgeted: Direction?
  private var isLooking = false
  /// Seconds between two looks at a budget that is used up: its next period may begin.
  private static let look = 0.2

  /// - Parameter fit: what suits a rate of received bytes.
  init(
    _ pacer: Pacer, thread: NetworkThread, throttle: Throttle?, budgeted: Direction?,
    fit: @escaping (Double) -> ReceiveWindow
  ) {
    self.budgeted = budgeted
    self.pacer = pacer
    self.thread = thread
    self.throttle = throttle
    self.fit = fit
  }

  /// Whether so many bytes may go now; where not, the request is resumed when they may.
  func mayMove(_ count: Int, _ direction: Direction) -> Bool {
    guard let throttle else { return true }
    if place != nil { return false }
    // A turn of libcurl's may bring tens of megabytes before the engine has its own.
    if direction == budgeted, throttle.keepsBytes() {
      lookAgain()
      return false
    }
    if direction == .download { keepFit(throttle) }
    if paid < count {
      let wanted = count - paid
      place = pacer.ask(wanted, under: throttle.limits(direction)) { [self] in
        place = nil
        paid += wanted
        if let id { thread.resume(id) }
      }
      if place != nil { return false }
      paid += wanted
    }
    return true
  }

  private func lookAgain() {
    guard !isLooking else { return }
    isLooking = true
    thread.schedule(after: Self.look) { [self] in
      isLooking = false
      if let id { thread.resume(id) }
    }
  }

  /// Lets the request go on, from any thread.
  var resumption: @Sendable () -> Void {
    { [thread, id] in if let id { thread.resume(id) } }
  }

  /// A rate that changes while the request runs changes what its connection may hold.
  private func keepFit(_ throttle: Throttle) {
    let rate = throttle.rate(.download)
    guard !isFitted || rate != fitted, let id else { return }
    (fitted, isFitted) = (rate, true)
    guard rate != nil || pacer.hasFitted else { return }
    pacer.hasFitted = true
    thread.fit(id, receiveBuffer: rate.flatMap { fit($0).buffer })
  }

  /// An answer of so many bytes begins. What a server sends ahead is a burst, unless we read as much later; where
  /// answers are short that would cost more than it smooths.
  func begins(_ length: Int64) {
    guard let throttle, let rate = throttle.rate(.download) else { return }
    let burst = min(fit(rate).ahead, Double(length) * 0.03)
    for limit in throttle.limits(.download) { limit.delay(burst) }
  }

  func moved(_ count: Int) {
    paid = max(0, paid - count)
    throttle?.count(count)
  }

  /// Bytes of an upload's next step: small ones under a low limit, or its first second is a burst of one buffer.
  func step(_ most: Int) -> Int {
    guard let rate = throttle?.rate(.upload) else { return most }
    return min(most, max(256, Int(rate / 64)))
  }

  func end() {
    if let place { pacer.leave(place) }
    place = nil
  }
}
