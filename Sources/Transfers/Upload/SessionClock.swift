/// How long the sessions of an upload live, and when one is to be renewed so that what is on its way still arrives.
///
/// Times are seconds since 1970.
struct SessionClock {
  /// What is left of a long session when it is renewed, in seconds.
  private static let margin = 60.0

  private var expiresAt: Double?
  /// Seconds that it had when it was opened or taken up.
  private var life = 0.0
  /// Seconds that the slowest chunk took.
  private var slowest = 0.0
  /// Something was sent in it: a session that has only just been opened is not renewed again, whatever the clocks say.
  private var isUsed = false
  /// The server would not renew it.
  private var isLast = false

  mutating func opened(expiresAt: Double?, now: Double) {
    (self.expiresAt, isUsed, isLast) = (expiresAt, false, false)
    life = expiresAt.map { max(0, $0 - now) } ?? 0
  }

  /// The server says anew when it ends.
  mutating func moved(to expiresAt: Double) { self.expiresAt = expiresAt }

  mutating func sent(seconds: Double) {
    slowest = max(slowest, seconds)
    isUsed = true
  }

  mutating func refused() { isLast = true }

  /// A session is renewed a minute before its end, a short one in its last quarter, and one whose chunks take long
  /// sooner; but never before half of its life: each has its turn of chunks.
  func isDue(_ now: Double) -> Bool {
    guard let expiresAt, isUsed, !isLast else { return false }
    let wanted = max(min(Self.margin, life / 4), 2 * slowest)
    return expiresAt - now < min(wanted, life / 2)
  }
}
