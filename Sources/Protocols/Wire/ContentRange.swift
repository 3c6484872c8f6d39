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
    let trimmed = text.drop { $0 == " " }
    guard trimmed.lowercased().hasPrefix("bytes ") else { return nil }
    let rest = trimmed.dropFirst(6).drop { $0 == " " }
    let halves = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    let totalText = halves[1].trimmingBlanks()
    var total: Int64?
    if totalText != "*" {
      guard let number = ByteCount.read(totalText) else { return nil }
      total = number
    }
    if halves[0].trimmingBlanks() == "*" {
      guard total != nil else { return nil }
      self.init(range: nil, total: total)
      return
    }
    let ends = halves[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2, let first = ByteCount.read(ends[0].trimmingBlanks()),
      let last = ByteCount.read(ends[1].trimmingBlanks()), first <= last, last < Int64.max
    else { return nil }
    if let total, total <= last { return nil }
    self.init(range: first..<(last + 1), total: total)
  }
}

extension Substring {
  fileprivate func trimmingBlanks() -> Substring {
    var text = self
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
