/// Bytes of a known size, read a few at a time.
struct Content {
  let size: Int64
  let read: (_ offset: Int64, _ count: Int) throws -> [UInt8]

  /// What there is of `count` bytes from `offset` on: fewer at the content's end.
  func bytes(at offset: Int64, _ count: Int) throws -> [UInt8] {
    guard offset >= 0, offset < size else { return [] }
    let count = Int(min(Int64(count), size - offset))
    let bytes = try read(offset, count)
    guard bytes.count == count else {
      throw ShortRead(offset: offset, wanted: count, got: bytes.count)
    }
    return bytes
  }

  /// The last `count` bytes, or all there are.
  func tail(_ count: Int) throws -> [UInt8] {
    try bytes(at: max(0, size - Int64(count)), count)
  }
}

extension Collection<UInt8> {
  /// The bytes as one unsigned number, the first weighing most.
  var bigEndian: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }

  /// The bytes as one unsigned number, the first weighing least.
  var littleEndian: UInt64 { reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}

extension [UInt8] {
  /// Whether the pattern's bytes stand anywhere.
  func contains(pattern: String) -> Bool {
    let pattern = Array(pattern.utf8)
    guard count >= pattern.count else { return false }
    return (0...(count - pattern.count)).contains { self[$0...].starts(with: pattern) }
  }
}
