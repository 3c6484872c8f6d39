internal import JobModel

/// A range of addresses in a policy: a CIDR, an address, or a word for well-known ranges.
enum AddressRange {
  static let words = ["private", "loopback", "link-local"]

  static func check(_ text: String) throws(ValueFault) -> String {
    if words.contains(text) { return text }
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let address = String(parts[0])
    let bits: Int64? = isIPv4(address) ? 32 : isIPv6(address) ? 128 : nil
    let hint = "a CIDR like `10.0.0.0/8` or `fd00::/8`, or one of \(words.joined(separator: ", "))"
    guard let bits else { throw ValueFault("`\(text)` is not a range of addresses", hint: hint) }
    if parts.count == 2 {
      guard let length = Units.integer(String(parts[1])), (0...bits).contains(length) else {
        throw ValueFault("`\(text)` has a prefix length out of 0 to \(bits)", hint: hint)
      }
    }
    return text
  }

  private static func isIPv4(_ text: String) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { part in
        guard let number = Units.integer(String(part)) else { return false }
        return (0...255).contains(number) && String(number) == part
      }
  }

  /// RFC 4291, 2.2: eight groups of hex, one run of zeros as `::`, an IPv4 tail allowed.
  private static func isIPv6(_ text: String) -> Bool {
    let halves = text.split(separator: "::", omittingEmptySubsequences: false)
    guard text.contains(":"), halves.count <= 2 else { return false }
    var count = 0
    for half in halves where !half.isEmpty {
      let groups = half.split(separator: ":", omittingEmptySubsequences: false)
      for (index, group) in groups.enumerated() {
        if group.contains(".") {
          guard half == halves.last, index == groups.count - 1, isIPv4(String(group)) else { return false }
          count += 2
        } else {
          guard (1...4).contains(group.count), group.allSatisfy(\.isHexDigit) else { return false }
          count += 1
        }
      }
    }
    return halves.count == 2 ? count <= 7 : count == 8
  }
}
