import JobModel

/// A number of bytes as servers write it: decimal digits, and no more than anybody can have.
package enum ByteCount {
  /// 1 EiB: above it a number is a lie or a fault, and sums of it would overflow.
  package static let limit: Int64 = 1 << 60

  package static func read(_ text: some StringProtocol) -> Int64? { read(text.utf8) }

  /// A JSON number or decimal text, as servers send either; nil for anything else, a fraction, and what is below 0 or above the
  /// limit.
  static func read(json value: JSON) -> Int64? {
    if let text = value.string { return read(text) }
    return value.int64.flatMap { (0...limit).contains($0) ? $0 : nil }
  }

  static func read(_ digits: some Collection<UInt8>) -> Int64? {
    guard !digits.isEmpty else { return nil }
    var count: Int64 = 0
    for digit in digits {
      guard (48...57).contains(digit) else { return nil }
      // Ten times what is within the limit may not be within 64 bits.
      let (tenfold, overflows) = count.multipliedReportingOverflow(by: 10)
      count = tenfold &+ Int64(digit &- 48)
      guard !overflows, (0...limit).contains(count) else { return nil }
    }
    return count
  }
}
