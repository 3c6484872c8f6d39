package import JobModel

/// Sizes, rates and times for people. Reports and events carry plain numbers instead.
package enum Figures {
  /// `1023 B`, `1.5 KiB`, `120 MiB`.
  package static func bytes(_ count: Int64) -> String {
    let (value, unit) = scaled(count)
    return "\(value) \(unit)"
  }

  /// Of two sizes that belong together, in one unit where they share it: `1.2/3.4 GiB`.
  package static func bytes(_ done: Int64, of size: Int64, isAtLeast: Bool = false) -> String {
    let (left, leftUnit) = scaled(done)
    let (right, rightUnit) = scaled(size)
    let more = isAtLeast ? "+" : ""
    return leftUnit == rightUnit || done == 0
      ? "\(left)/\(right)\(more) \(rightUnit)" : "\(left) \(leftUnit)/\(right)\(more) \(rightUnit)"
  }

  /// `perSecond` is bytes a second.
  package static func rate(_ perSecond: Double) -> String {
    bytes(perSecond.isFinite ? Int64(clamping: max(perSecond, 0)) : 0) + "/s"
  }

  /// `5 MB/s`, `unlimited`, or one for each way; `as its policies say` where there is none.
  package static func bandwidth(_ bandwidth: Bandwidth?) -> String {
    guard let bandwidth else { return "as its policies say" }
    func text(_ rate: Rate) -> String {
      switch rate {
      case .unlimited: "unlimited"
      case .bytesPerSecond(let bytes): setting(bytes) + "/s"
      }
    }
    if bandwidth.download == bandwidth.upload { return text(bandwidth.download) }
    return "\(text(bandwidth.download)) down, \(text(bandwidth.upload)) up"
  }

  /// Bytes of a setting: as it was most likely written, else rounded.
  static func setting(_ bytes: Int64) -> String { exact(bytes) ?? Self.bytes(bytes) }

  /// A limit in the unit that it was most likely given in: `1 MB`, `2.5 MB`, `512 KiB`; nil where none is even.
  private static func exact(_ bytes: Int64) -> String? {
    guard bytes < 1 << 58 else { return nil }
    for (base, letters) in [(Int64(1000), "B"), (1024, "iB")] where bytes >= base && bytes % base == 0 {
      var (unit, index) = (base, 0)
      let prefixes = Array("KMGT")
      while index + 1 < prefixes.count, bytes >= unit * base, bytes * 10 % (unit * base) == 0 {
        (unit, index) = (unit * base, index + 1)
      }
      let tenths = bytes * 10 / unit
      let value = tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
      return "\(value) \(prefixes[index])\(letters)"
    }
    return nil
  }

  /// `0.4 s`, `42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`.
  package static func duration(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds < 1e12 else { return "?" }
    if seconds < 9.95 {
      let tenths = Int((max(0, seconds) * 10).rounded())
      return "\(tenths / 10).\(tenths % 10) s"
    }
    let whole = Int(seconds.rounded())
    return switch whole {
    case ..<60: "\(whole) s"
    case ..<3600: "\(whole / 60) min \(whole % 60) s"
    case ..<86_400: "\(whole / 3600) h \(whole / 60 % 60) min"
    default: "\(whole / 86_400) d \(whole / 3600 % 24) h"
    }
  }

  /// `0:07`, `12:30`, `2:05:00`: what is left, in little room.
  package static func clock(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds < 360_000 else { return "--:--" }
    let whole = Int(max(0, seconds).rounded(.up))
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return whole < 3600
      ? "\(whole / 60):\(two(whole % 60))" : "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))"
  }

  /// `1 transfer`, `3 transfers`; thousands stay plain digits.
  package static func count(_ number: Int, _ noun: String) -> String {
    if number == 1 { return "1 \(noun)" }
    return noun.hasSuffix("y") ? "\(number) \(noun.dropLast())ies" : "\(number) \(noun)s"
  }

  private static func scaled(_ count: Int64) -> (value: String, unit: String) {
    if count < 1024 { return (String(max(0, count)), "B") }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    var value = Double(count) / 1024
    var index = 0
    // 1023.95 would print as 1024: the next unit is due a little before.
    while value >= 1023.5, index < units.count - 1 {
      value /= 1024
      index += 1
    }
    if value >= 99.95 { return (String(Int(value.rounded())), units[index]) }
    let tenths = Int((value * 10).rounded())
    return ("\(tenths / 10).\(tenths % 10)", units[index])
  }
}
