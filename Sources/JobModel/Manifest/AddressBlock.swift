/// A range of addresses in a policy: a CIDR, one address, or a word for well-known ranges.
package struct AddressBlock: Sendable, Hashable {
  package static let words = ["private", "loopback", "link-local"]

  /// As the policy writes it.
  package let text: String
  private let ranges: [Range]

  private struct Range: Sendable, Hashable {
    var base: IPAddress
    var bits: Int

    func contains(_ address: IPAddress) -> Bool {
      guard address.bytes.count == base.bytes.count else { return false }
      let whole = bits / 8
      guard address.bytes.prefix(whole) == base.bytes.prefix(whole) else { return false }
      let rest = bits % 8
      return rest == 0 || (address.bytes[whole] ^ base.bytes[whole]) >> UInt8(8 - rest) == 0
    }
  }

  package init(_ text: String) throws(ValueFault) {
    self.text = text
    switch text {
    // RFC 1918, 6598 (shared by carriers), 4193, and the site-local addresses of old (3879).
    case "private":
      ranges = Self.known([
        ("10.0.0.0", 8), ("172.16.0.0", 12), ("192.168.0.0", 16), ("100.64.0.0", 10), ("fc00::", 7),
        ("fec0::", 10),
      ])
    // A connection to 0.0.0.0 or :: reaches this machine too.
    case "loopback": ranges = Self.known([("127.0.0.0", 8), ("0.0.0.0", 8), ("::1", 128), ("::", 128)])
    // RFC 3927 and 4291.
    case "link-local": ranges = Self.known([("169.254.0.0", 16), ("fe80::", 10)])
    default: ranges = [try Self.range(text)]
    }
  }

  /// Whether a connection to the address may reach something in this range.
  package func contains(_ address: IPAddress) -> Bool {
    address.meanings.contains { meaning in ranges.contains { $0.contains(meaning) } }
  }

  private static func known(_ list: [(String, Int)]) -> [Range] {
    list.compactMap { text, bits in IPAddress(text).map { Range(base: $0, bits: bits) } }
  }

  private static func range(_ text: String) throws(ValueFault) -> Range {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let hint = "a CIDR like `10.0.0.0/8` or `fd00::/8`, or one of \(words.joined(separator: ", "))"
    guard let first = parts.first, let base = IPAddress(first) else {
      throw ValueFault("`\(text)` is not a range of addresses", hint: hint)
    }
    let most = 8 * base.bytes.count
    var bits = most
    if parts.count == 2 {
      guard let length = Units.integer(String(parts[1])), (0...Int64(most)).contains(length) else {
        throw ValueFault("`\(text)` has a prefix length out of 0 to \(most)", hint: hint)
      }
      bits = Int(length)
    }
    // Mapped addresses stand for IPv4 ones (RFC 4291, 2.5.5.2), however those are written.
    if bits >= 96, base.bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]),
      let inner = IPAddress(bytes: Array(base.bytes[12...]))
    {
      return Range(base: inner, bits: bits - 96)
    }
    return Range(base: base, bits: bits)
  }
}
