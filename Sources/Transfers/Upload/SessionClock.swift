/// How long the sessions of an upload live, when one is to be renewed so that what is on its way still arrives, and how many
/// chunks at once are not too many for one.
///
/// Times are seconds since 1970.
struct SessionClock {
  /// What is left of a long session when it is renewed, in seconds.
  private static let margin = 60.0

  private var expiresAt: Double?
  /// When it was opened or taken up.
  private var openedAt = 0.0
  /// Seconds that it had then.
  private var life = 0.0
  /// Seconds that the slowest chunk took.
  private var slowest = 0.0
  /// Something was sent in it: a session that has only just been opened is not renewed again, whatever the clocks say.
  private var isUsed = false
  /// The server would not renew it.
  private var isLast = false
  /// Chunks that may be sent at once, by the sessions that were too short for more.
  private var limit = Int.max
  /// Chunks that are sent at once in this one.
  private var workers = 1
  /// It was gone before its chunks had arrived.
  private var wasTooShort = false
  /// No chunk has arrived since one that was sent alone took longer than its session lived.
  private var isSlowAlone = false
  /// It was the second one in a row for which a chunk that is sent alone takes too long: the first may have ended for another
  /// reason.
  private(set) var wantsSmallerChunks = false

  mutating func opened(expiresAt: Double?, now: Double) {
    (self.expiresAt, openedAt) = (expiresAt, now)
    (isUsed, isLast, wasTooShort, wantsSmallerChunks) = (false, false, false, false)
    life = expiresAt.map { max(0, $0 - now) } ?? 0
  }

  /// The server says anew when it ends.
  mutating func moved(to expiresAt: Double) { self.expiresAt = expiresAt }

  mutating func sent(seconds: Double) {
    slowest = max(slowest, seconds)
    (isUsed, isSlowAlone) = (true, false)
  }

  /// How many chunks are sent at once, of `most` that might be.
  mutating func workers(of most: Int) -> Int {
    workers = max(1, min(most, limit))
    return workers
  }

  /// The session was gone when a chunk had been on its way for so long. Where most of its life was not enough, the chunks
  /// that shared the line were too many: half of them are sent at once from now on.
  mutating func lost(seconds: Double, now: Double) {
    let lived = now - openedAt
    guard !wasTooShort, 2 * seconds > (life > 0 ? min(life, lived) : lived) else { return }
    wasTooShort = true
    if workers > 1 {
      limit = workers / 2
    } else {
      (wantsSmallerChunks, isSlowAlone) = (isSlowAlone, true)
    }
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
