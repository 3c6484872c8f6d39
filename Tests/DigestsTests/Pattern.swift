/// Bytes that do not repeat soon, as the Python that made the expected values wrote them.
func pattern(_ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ ($0 >> 8) &* 7) }
}

/// A read closure over bytes in memory.
func reader(_ bytes: [UInt8]) -> (Int64, Int) throws -> [UInt8] {
  { offset, count in Array(bytes.dropFirst(Int(offset)).prefix(count)) }
}
