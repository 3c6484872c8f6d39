/// Reads SSH's data types (RFC 4251, 5) from bytes that a stranger wrote: each read gives nil where they end too early.
package struct SSHBytes: Sendable {
  private let bytes: ArraySlice<UInt8>
  private var position: Int

  package init(_ bytes: ArraySlice<UInt8>) { (self.bytes, position) = (bytes, bytes.startIndex) }
  package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

  package var rest: ArraySlice<UInt8> { bytes[position...] }

  package mutating func byte() -> UInt8? {
    guard position < bytes.endIndex else { return nil }
    defer { position += 1 }
    return bytes[position]
  }

  package mutating func uint32() -> UInt32? {
    guard bytes.endIndex - position >= 4 else { return nil }
    defer { position += 4 }
    return bytes[position..<position + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  package mutating func uint64() -> UInt64? {
    guard bytes.endIndex - position >= 8, let high = uint32(), let low = uint32() else { return nil }
    return UInt64(high) << 32 | UInt64(low)
  }

  package mutating func string() -> ArraySlice<UInt8>? {
    let start = position
    guard let count = uint32(), Int(count) <= bytes.endIndex - position else {
      position = start
      return nil
    }
    defer { position += Int(count) }
    return bytes[position..<position + Int(count)]
  }

  package mutating func text() -> String? { string().map { String(decoding: $0, as: UTF8.self) } }
}

/// Writes SSH's data types.
package struct SSHWriter: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init(_ capacity: Int = 64) { bytes.reserveCapacity(capacity) }

  package mutating func byte(_ value: UInt8) { bytes.append(value) }
  package mutating func uint32(_ value: UInt32) {
    for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }
  package mutating func uint64(_ value: UInt64) {
    uint32(UInt32(truncatingIfNeeded: value >> 32))
    uint32(UInt32(truncatingIfNeeded: value))
  }
  package mutating func string(_ value: some Collection<UInt8>) {
    uint32(UInt32(clamping: value.count))
    bytes += value
  }
  package mutating func string(_ text: String) { string(text.utf8) }
}
