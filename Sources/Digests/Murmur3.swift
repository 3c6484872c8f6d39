/// MurmurHash3, x64, 128 bits, seed 0 (Austin Appleby's public-domain algorithm).
package enum Murmur3 {
  /// The two halves, h1 then h2, each big-endian.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    let (first, second) = bytes.withUnsafeBytes { halves($0) }
    return [first, second].flatMap { half in withUnsafeBytes(of: half.bigEndian) { Array($0) } }
  }

  private static let c1: UInt64 = 0x87c3_7b91_1142_53d5
  private static let c2: UInt64 = 0x4cf5_ad43_2745_937f

  private static func halves(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
    var h1: UInt64 = 0
    var h2: UInt64 = 0
    var offset = 0
    while offset + 16 <= bytes.count {
      h1 ^= mixed1(word(bytes, offset))
      h1 = (rotated(h1, 27) &+ h2) &* 5 &+ 0x52dc_e729
      h2 ^= mixed2(word(bytes, offset + 8))
      h2 = (rotated(h2, 31) &+ h1) &* 5 &+ 0x3849_5ab5
      offset += 16
    }
    h2 ^= mixed2(tail(bytes, offset + 8))
    h1 ^= mixed1(tail(bytes, offset))
    let length = UInt64(bytes.count)
    h1 ^= length
    h2 ^= length
    h1 &+= h2
    h2 &+= h1
    h1 = finalized(h1)
    h2 = finalized(h2)
    h1 &+= h2
    h2 &+= h1
    return (h1, h2)
  }

  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  // The bytes from the offset on, fewer than 8 of them or none, as a word; a word of zeros mixes to zero.
  private static func tail(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    var value: UInt64 = 0
    let end = min(offset + 8, bytes.count)
    guard offset < end else { return 0 }
    for index in (offset..<end).reversed() { value = value << 8 | UInt64(bytes[index]) }
    return value
  }

  private static func mixed1(_ word: UInt64) -> UInt64 { rotated(word &* c1, 31) &* c2 }
  private static func mixed2(_ word: UInt64) -> UInt64 { rotated(word &* c2, 33) &* c1 }

  private static func rotated(_ value: UInt64, _ by: UInt64) -> UInt64 {
    value << by | value >> (64 - by)
  }

  private static func finalized(_ value: UInt64) -> UInt64 {
    var mix = value
    mix ^= mix >> 33
    mix &*= 0xff51_afd7_ed55_8ccd
    mix ^= mix >> 33
    mix &*= 0xc4ce_b9fe_1a85_ec53
    mix ^= mix >> 33
    return mix
  }
}
