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

  /// The range is all of the object.
  var isWhole: Bool { range != nil && range?.lowerBound == 0 && range?.upperBound == total }

  /// Reads a header's value; nil for another unit, numbers that overflow, last < first, or total <= last.
  package init?(_ text: String) {
    // Every answer to a range has one: read by bytes.
    var text = text
    guard let read = text.withUTF8({ Self.read($0[...]) }) else { return nil }
    self = read
  }

  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  private static func read(_ bytes: Bytes) -> ContentRange? {
    let trimmed = bytes.drop { $0 == UInt8(ascii: " ") }
    guard let unit = trimmed.firstIndex(of: UInt8(ascii: " ")), isBytes(trimmed[..<unit]) else { return nil }
    let rest = trimmed[unit...].drop { $0 == UInt8(ascii: " ") }
    guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    let (range, totalText) = (trim(rest[..<slash]), trim(rest[(slash + 1)...]))
    var total: Int64?
    if !isStar(totalText) {
      guard let number = ByteCount.read(totalText) else { return nil }
      total = number
    }
    if isStar(range) { return total.map { ContentRange(range: nil, total: $0) } }
    guard let dash = range.firstIndex(of: UInt8(ascii: "-")),
      let first = ByteCount.read(trim(range[..<dash])),
      let last = ByteCount.read(trim(range[(dash + 1)...])), first <= last, last < Int64.max
    else { return nil }
    if let total, total <= last { return nil }
    return ContentRange(range: first..<(last + 1), total: total)
  }

  /// The unit, in whatever case.
  private static func isBytes(_ unit: Bytes) -> Bool {
    unit.lazy.map { $0 | 0x20 }.elementsEqual("bytes".utf8)
  }

  private static func isStar(_ text: Bytes) -> Bool { text.count == 1 && text.first == UInt8(ascii: "*") }

  /// Without the blanks around it.
  private static func trim(_ text: Bytes) -> Bytes {
    func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    var text = text.drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }
}
