import JobModel

/// Names under which uploads arrive beside their destinations: `.haul-KEY.tmp`, with 32 hex digits.
enum TemporaryName {
  private static let (prefix, suffix, length) = (".haul-", ".tmp", 32)

  /// - Parameter key: the same for every try of one upload; nil for a name of its own.
  static func make(_ key: String?) -> String {
    let words = [UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max)].map { word in
      let hex = String(word, radix: 16)
      return String(repeating: "0", count: 16 - hex.utf8.count) + hex
    }
    return prefix + (key ?? words.joined()) + suffix
  }

  static func isOne(_ name: String) -> Bool {
    guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
    let key = name.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count)
    return key.count == length && key.allSatisfy { $0.isLowerHexDigit }
  }
}
