/// A number of bytes as servers write it: decimal digits, and no more than anybody can have.
package enum ByteCount {
  /// 1 EiB: above it a number is a lie or a fault, and sums of it would overflow.
  package static let limit: Int64 = 1 << 60

  package static func read(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }), let count = Int64(text),
      count <= limit
    else { return nil }
    return count
  }
}
