/// An IPv4 or IPv6 address, in network order.
package struct IPAddress: Sendable, Hashable {
  /// 4 or 16.
  package let bytes: [UInt8]

  package init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Reads the strict forms: four decimal parts (RFC 6943, 3.1.1), or RFC 4291, 2.2. No zone, no brackets.
  package init?(_ text: some StringProtocol) {
    guard let bytes = text.contains(":") ? Self.six(String(text)) : Self.four(text) else { return nil }
    self.bytes = bytes
  }

  /// Reads what inet_aton(3) takes for an IPv4 address too: `2130706433`, `0x7f.1`, `0177.0.0.1`.
  package init?(looselyWritten text: String) {
    if let strict = IPAddress(text) {
      self = strict
      return
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(Self.number)
    guard (1...4).contains(parts.count), let last = parts.last ?? nil else { return nil }
    var value: UInt64 = 0
    for part in parts.dropLast() {
      guard let part, part <= 255 else { return nil }
      value = value << 8 | part
    }
    let bits = UInt64(8 * (5 - parts.count))
    guard last < 1 << bits else { return nil }
    value = value << bits | last
    bytes = (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt64(24 - 8 * $0)) }
  }

  /// The addresses that a connection to this one may really reach: itself, and the IPv4 address inside it where it
  /// is mapped (RFC 4291, 2.5.5), of a translator (RFC 6052) or of 6to4 (RFC 3056).
  package var meanings: [IPAddress] {
    guard bytes.count == 16 else { return [self] }
    let inner: ArraySlice<UInt8>
    if bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
      || bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
      || (bytes.dropLast(4).allSatisfy { $0 == 0 } && bytes[12] != 0)
    {
      inner = bytes[12...]
    } else if bytes.starts(with: [0x20, 0x02]) {
      inner = bytes[2..<6]
    } else {
      return [self]
    }
    return [self] + [IPAddress(bytes: Array(inner))].compactMap { $0 }
  }

  private static func four(_ text: some StringProtocol) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    let bytes = parts.compactMap { part -> UInt8? in
      // A leading zero is octal to some readers: refused.
      guard part.utf8.allSatisfy({ (48...57).contains($0) }), part == "0" || part.first != "0" else {
        return nil
      }
      return UInt8(part)
    }
    return bytes.count == 4 ? bytes : nil
  }

  private static func six(_ text: String) -> [UInt8]? {
    guard let gap = text.firstRange(of: "::") else {
      guard let bytes = groups(text[...], mayEndInFour: true), bytes.count == 16 else { return nil }
      return bytes
    }
    guard let head = groups(text[..<gap.lowerBound], mayEndInFour: false),
      let tail = groups(text[gap.upperBound...], mayEndInFour: true), head.count + tail.count <= 14
    else { return nil }
    return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
  }

  private static func groups(_ text: Substring, mayEndInFour: Bool) -> [UInt8]? {
    guard !text.isEmpty else { return [] }
    var bytes: [UInt8] = []
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if part.contains(".") {
        guard mayEndInFour, index == parts.count - 1, let tail = four(part) else { return nil }
        bytes += tail
      } else {
        guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ $0.isHexDigit }),
          let group = UInt16(part, radix: 16)
        else { return nil }
        bytes += [UInt8(group >> 8), UInt8(group & 255)]
      }
    }
    return bytes
  }

  /// Decimal, octal after `0`, hex after `0x`.
  private static func number(_ text: Substring) -> UInt64? {
    let lowered = text.lowercased()
    guard !lowered.isEmpty, lowered.utf8.allSatisfy({ $0.isHexDigit || $0 == UInt8(ascii: "x") }) else {
      return nil
    }
    if lowered.hasPrefix("0x") { return lowered == "0x" ? 0 : UInt64(lowered.dropFirst(2), radix: 16) }
    return UInt64(lowered, radix: lowered.hasPrefix("0") ? 8 : 10)
  }
}

extension IPAddress: CustomStringConvertible {
  package var description: String {
    if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
    let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    if meanings.count == 2, bytes[10] == 0xFF, let inner = meanings.last { return "::ffff:\(inner)" }
    // The first longest run of zeros is shortened (RFC 5952, 4.2).
    var best = 0..<0
    var start = 0
    while start < 8 {
      let end = groups[start...].firstIndex { $0 != 0 } ?? 8
      if end - start > max(1, best.count) { best = start..<end }
      start = max(end, start) + 1
    }
    func hex(_ range: Range<Int>) -> String {
      groups[range].map { String($0, radix: 16) }.joined(separator: ":")
    }
    return best.isEmpty ? hex(0..<8) : "\(hex(0..<best.lowerBound))::\(hex(best.upperBound..<8))"
  }
}
