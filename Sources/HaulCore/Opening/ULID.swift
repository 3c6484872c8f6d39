/// Run ids: a time and chance, sorted by time (github.com/ulid/spec).
enum ULID {
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

  /// - Parameter now: seconds since 1970.
  static func make(now: Double) -> String {
    var time = UInt64(max(0, now * 1000))
    var head: [Character] = []
    for _ in 0..<10 {
      head.append(alphabet[Int(time & 31)])
      time >>= 5
    }
    let tail = (0..<16).map { _ in alphabet[Int.random(in: 0..<32)] }
    return String(head.reversed() + tail)
  }
}
