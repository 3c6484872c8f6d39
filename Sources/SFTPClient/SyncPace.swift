/// When a server is asked to bring to its disk what it has acknowledged: each minute.
///
/// It takes nothing meanwhile, and others wait: where more came in that time than a disk writes in seconds, it is not asked.
struct SyncPace {
  static let (seconds, most): (Double, Int64) = (60, 1 << 30)
  private var began: Double
  private var bytes: Int64 = 0

  init(_ now: Double) { began = now }

  /// - Parameter count: bytes that it has acknowledged.
  mutating func isDue(after count: Int64, now: Double) -> Bool {
    bytes += count
    guard now >= began + Self.seconds else { return false }
    defer { (began, bytes) = (now, 0) }
    return bytes <= Self.most
  }
}
