extension CRC64NVME {
  /// The checksum of these bytes followed by others, by the checksum and the number of those: what zlib's `crc32_combine`
  /// does for CRC-32.
  package func joined(with next: CRC64NVME, count: Int64) -> CRC64NVME {
    CRC64NVME(value: Self.afterZeros(value, count) ^ next.value)
  }

  /// The polynomial 0xAD93D23594C93659, its bits in reverse.
  private static let polynomial: UInt64 = 0x9A6C_9329_AC4B_C9B5

  /// The remainder after so many bytes of zero, by squaring the operator of one bit.
  private static func afterZeros(_ value: UInt64, _ count: Int64) -> UInt64 {
    var operation = (0..<64).map { $0 == 0 ? polynomial : UInt64(1) << ($0 - 1) }
    // Of 8 bits: one byte.
    for _ in 0..<3 { operation = squared(operation) }
    var (value, rest) = (value, count)
    while rest > 0 {
      if rest & 1 == 1 { value = apply(operation, value) }
      rest >>= 1
      if rest > 0 { operation = squared(operation) }
    }
    return value
  }

  private static func apply(_ operation: [UInt64], _ value: UInt64) -> UInt64 {
    var (sum, rest, bit): (UInt64, UInt64, Int) = (0, value, 0)
    while rest != 0 {
      if rest & 1 == 1 { sum ^= operation[bit] }
      rest >>= 1
      bit += 1
    }
    return sum
  }

  private static func squared(_ operation: [UInt64]) -> [UInt64] { operation.map { apply(operation, $0) } }
}
