/// A time zone as a TZif file has it (RFC 9636): the changes that are known one by one, and the rule for all behind them.
struct ZoneHistory: Sendable, Hashable {
  /// Seconds since 1970, ascending.
  private let times: [Int64]
  /// Seconds east of UTC from each of the times on.
  private let offsets: [Int]
  private let first: Int
  private let rule: ZoneRule?

  /// nil for what is no TZif, or counts leap seconds, which seconds since 1970 don't.
  init?(_ bytes: [UInt8]) {
    var reader = BigEndianReader(bytes[...])
    guard var counts = ZoneCounts(&reader) else { return nil }
    var width = 4
    if counts.version >= UInt8(ascii: "2") {
      // The same follows with times of 64 bits.
      width = 8
      guard reader.skip(counts.size(width: 4)), let wide = ZoneCounts(&reader) else { return nil }
      counts = wide
    }
    guard counts.types > 0, counts.leaps == 0, reader.count >= counts.size(width: width) else { return nil }
    times = (0..<counts.times).map { _ in reader.integer(width) }
    let kinds = (0..<counts.times).map { _ in Int(reader.integer(1) & 0xFF) }
    let types = (0..<counts.types).map { _ in
      defer { _ = reader.skip(2) }
      return Int(reader.integer(4))
    }
    guard kinds.allSatisfy({ $0 < types.count }), zip(times, times.dropFirst()).allSatisfy({ $0 < $1 }),
      types.allSatisfy({ abs($0) < 7 * 86_400 })
    else { return nil }
    offsets = kinds.map { types[$0] }
    first = types[0]
    guard reader.skip(counts.letters + counts.standards + counts.universals), width == 8 else {
      rule = nil
      return
    }
    let footer = reader.rest.dropFirst().prefix { $0 != 0x0A }
    rule = footer.isEmpty ? nil : ZoneRule(footer)
    guard reader.rest.first == 0x0A, footer.isEmpty || rule != nil else { return nil }
  }

  /// A zone that is a rule alone, as the variable TZ may have it.
  init(_ rule: ZoneRule) {
    (times, offsets, first) = ([], [], rule.offset(at: 0))
    self.rule = rule
  }

  func offset(at instant: Double) -> Int {
    let index = count(upTo: instant)
    if index == times.count, let rule { return rule.offset(at: instant) }
    return index == 0 ? first : offsets[index - 1]
  }

  func nextChange(after instant: Double) -> Double? {
    let now = offset(at: instant)
    for index in count(upTo: instant)..<times.count where offsets[index] != now {
      return Double(times[index])
    }
    // The rule counts from the last time on.
    return rule?.nextChange(after: max(instant, times.last.map { Double($0) } ?? instant))
  }

  /// How many of the times have come at an instant.
  private func count(upTo instant: Double) -> Int {
    var (low, high) = (0, times.count)
    while low < high {
      let middle = (low + high) / 2
      if Double(times[middle]) <= instant { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// The header of a TZif block.
private struct ZoneCounts {
  let version: UInt8
  let universals, standards, leaps, times, types, letters: Int

  init?(_ reader: inout BigEndianReader) {
    guard reader.count >= 44, reader.rest.starts(with: "TZif".utf8) else { return nil }
    version = reader.rest[reader.rest.startIndex + 4]
    _ = reader.skip(20)
    let counts = (0..<6).map { _ in Int(reader.integer(4)) }
    // Far more than any zone has; sums of them stay small.
    guard counts.allSatisfy({ (0...1 << 20).contains($0) }) else { return nil }
    (universals, standards, leaps) = (counts[0], counts[1], counts[2])
    (times, types, letters) = (counts[3], counts[4], counts[5])
  }

  /// Bytes of the data block behind the header, whose times have `width` bytes.
  func size(width: Int) -> Int {
    times * (width + 1) + types * 6 + letters + leaps * (width + 4) + standards + universals
  }
}

private struct BigEndianReader {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var count: Int { rest.count }

  mutating func skip(_ count: Int) -> Bool {
    guard rest.count >= count else { return false }
    rest = rest.dropFirst(count)
    return true
  }

  /// A number of `width` bytes with its sign. The caller has made sure that they are there.
  mutating func integer(_ width: Int) -> Int64 {
    defer { rest = rest.dropFirst(width) }
    let bits = rest.prefix(width).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int64(bitPattern: bits << (64 - 8 * UInt64(width))) >> (64 - 8 * Int64(width))
  }
}
