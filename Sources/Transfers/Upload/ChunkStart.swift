/// Which chunks of uploads may be begun at a server: a kill loses what is begun and not taken, so in the first second few
/// are, each soon with its server, and under a rate limit never more than two seconds' worth.
struct ChunkStart: Equatable {
  /// Bytes that may be begun at any time: what takes no time to speak of.
  private static let free: Int64 = 1 << 20
  /// Seconds after which a server is given as many chunks as policies allow: more connections may bring more by then.
  static let opening = 1.0
  /// Of the time since the first chunk, what is begun until then may take.
  private static let share = 0.5
  /// Seconds that what is begun may take under a rate limit.
  private static let most = 2.0

  /// Seconds since 1970, as are all moments: when the first chunk was begun.
  private let began: Double
  /// Bytes that are begun and not taken.
  private var open: Int64 = 0
  /// Bytes that the server has taken, and the seconds in which some were on their way.
  private var (taken, busy): (Int64, Double) = (0, 0)
  private var changed: Double

  init(at now: Double) { (began, changed) = (now, now) }

  /// - Parameter limit: bytes a second of the tightest rate limit; nil where there is none.
  func mayBegin(_ bytes: Int64, limit: Double?, at now: Double) -> Bool {
    let after = open + bytes
    if open == 0 || after <= Self.free { return true }
    if let limit, Double(after) > limit * Self.most { return now - changed > patience(limit) }
    let elapsed = now - began
    // A clock that is set back keeps nobody waiting.
    guard elapsed < Self.opening, elapsed >= 0 else { return true }
    return busy > 0 && Double(after) <= Double(taken) / busy * elapsed * Self.share
  }

  /// Seconds without a change after which what is begun is not waited for: it may be tried again and again.
  private func patience(_ limit: Double) -> Double { 10 + 2 * Double(open) / limit }

  mutating func begin(_ bytes: Int64, at now: Double) {
    pass(now)
    open += bytes
  }

  /// A chunk is with its server, or failed.
  mutating func end(_ bytes: Int64, isTaken: Bool, at now: Double) {
    pass(now)
    open -= bytes
    if isTaken { taken += bytes }
  }

  private mutating func pass(_ now: Double) {
    if open > 0 { busy += max(0, now - changed) }
    changed = now
  }
}
