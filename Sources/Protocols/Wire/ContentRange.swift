/// `Content-Range: bytes a-b/total`, `bytes a-b/*` or `bytes */total` (RFC 9110, 14.4).
package struct ContentRange: Sendable, Hashable {
  /// nil for an unsatisfied range.
  package var range: Range<Int64>?
  /// nil for `*`.
  package var total: Int64?

  package init(range: Range<Int64>?, total: Int64?) {
    self.range = range
    self.total = total
  }

  /// Reads a header's value; nil for another unit, numbers that overflow, last < first, or total <= last.
  package init?(_ text: String) {
    // Every answer to a range has one: read by bytes.
    let trimmed = Substring(text).utf8.drop { $0 == UInt8(ascii: " ") }
    guard let unit = trimmed.firstIndex(of: UInt8(ascii: " ")), trimmed[..<unit].isBytes else { return nil }
    let rest = trimmed[unit...].drop { $0 == UInt8(ascii: " ") }
    guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    let (range, totalText) = (rest[..<slash].trimmed, rest[rest.index(after: slash)...].trimmed)
    var total: Int64?
    if !totalText.isStar {
      guard let number = ByteCount.read(Substring(totalText)) else { return nil }
      total = number
    }
    if range.isStar {
      guard total != nil else { return nil }
      self.init(range: nil, total: total)
      return
    }
    guard let dash = range.firstIndex(of: UInt8(ascii: "-")),
      let first = ByteCount.read(Substring(range[..<dash].trimmed)),
      let last = ByteCount.read(Substring(range[range.index(after: dash)...].trimmed)), first <= last,
      last < Int64.max
    else { return nil }
    if let total, total <= last { return nil }
    self.init(range: first..<(last + 1), total: total)
  }
}

extension Substring.UTF8View {
  /// The unit, in whatever case.
  fileprivate var isBytes: Bool { lazy.map { $0 | 0x20 }.elementsEqual("bytes".utf8) }

  fileprivate var isStar: Bool { elementsEqual("*".utf8) }

  /// Without the blanks around it.
  fileprivate var trimmed: Substring.UTF8View {
    func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    var text = drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }
}
