/// Attributes of an object besides its content type, as a server tells them or as they are sent.
package struct ObjectAttributes: Sendable, Hashable {
  package var headers: [ContentHeader: String] = [:]
  /// User metadata: names in lower case, values as they came.
  package var metadata: [String: String] = [:]
  /// nil where they were not told yet.
  package var tags: [String: String]?
  /// How many tags there are, where that is all that was told.
  package var tagCount: Int?
  /// The time of the file that the object was made of, in nanoseconds since 1970.
  package var mtime: Int64?
  /// Permission bits of that file.
  package var mode: UInt16?
  /// Nil for a store's usual one.
  package var storageClass: String?

  package init() {}

  /// The words that rclone and others keep a file's time and mode under.
  package static let mtimeName = "mtime"
  package static let modeName = "mode"

  /// Takes in what a later answer tells of the same object.
  package mutating func learn(_ seen: ObjectAttributes) {
    headers.merge(seen.headers) { $1 }
    metadata.merge(seen.metadata) { $1 }
    tags = seen.tags ?? tags
    tagCount = seen.tagCount ?? tagCount
    mtime = seen.mtime ?? mtime
    mode = seen.mode ?? mode
    storageClass = seen.storageClass ?? storageClass
  }

  /// Without values that repeat a secret.
  package func without(_ mask: SecretMask) -> ObjectAttributes {
    var clean = self
    clean.headers = headers.filter { !mask.finds(in: $0.value) }
    clean.metadata = metadata.filter { !mask.finds(in: $0.value) }
    clean.tags = tags?.filter { !mask.finds(in: $0.key) && !mask.finds(in: $0.value) }
    clean.storageClass = storageClass.flatMap { mask.finds(in: $0) ? nil : $0 }
    return clean
  }
}

/// A file's time as object stores keep it: decimal seconds since 1970 with a fraction, as rclone writes `x-amz-meta-mtime`.
package enum ObjectTime {
  private static let second: Int64 = 1_000_000_000

  /// - Parameter nanoseconds: since 1970.
  package static func text(_ nanoseconds: Int64) -> String {
    let (whole, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: UInt64(second))
    var digits = String(rest)
    digits = String(repeating: "0", count: 9 - digits.count) + digits
    while digits.hasSuffix("0") { digits.removeLast() }
    return (nanoseconds < 0 ? "-" : "") + String(whole) + (digits.isEmpty ? "" : "." + digits)
  }

  /// Nanoseconds since 1970; nil for another form, and beyond the years that they can tell.
  package static func nanoseconds(_ text: String) -> Int64? {
    let isNegative = text.hasPrefix("-")
    let parts = text.dropFirst(isNegative ? 1 : 0).split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let whole = Self.number(parts[0]) else { return nil }
    var fraction: Int64 = 0
    if parts.count == 2 {
      // What is finer than a nanosecond is cut off.
      let digits = parts[1].prefix(9)
      guard parts[1].utf8.allSatisfy(isDigit), let number = digits.isEmpty ? 0 : Self.number(digits) else {
        return nil
      }
      fraction = (digits.utf8.count..<9).reduce(number) { value, _ in value * 10 }
    }
    let (product, overflow) = whole.multipliedReportingOverflow(by: second)
    let (sum, isTooMuch) = product.addingReportingOverflow(fraction)
    guard !overflow, !isTooMuch else { return nil }
    return isNegative ? -sum : sum
  }

  private static func number(_ digits: Substring) -> Int64? {
    !digits.isEmpty && digits.utf8.allSatisfy(isDigit) ? Int64(digits) : nil
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

/// A file's mode as object stores keep it: octal text, with the file's kind, as rclone writes it (`100644`).
package enum ObjectMode {
  private static let kind: UInt32 = 0o170000
  private static let regular: UInt32 = 0o100000

  /// - Parameter bits: permission bits.
  package static func text(_ bits: UInt16) -> String { String(regular | UInt32(bits) & 0o7777, radix: 8) }

  /// Permission bits: those for user, group and others alone, as what a store says makes no file run as its owner. Nil for
  /// another form, and for what is no regular file's mode.
  package static func bits(_ text: String) -> UInt16? {
    let digits = text.hasPrefix("0o") ? text.dropFirst(2) : text[...]
    guard (3...8).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
      let mode = UInt32(digits, radix: 8), [0, regular].contains(mode & kind), mode <= 0o177777
    else { return nil }
    return UInt16(mode & 0o777)
  }
}
