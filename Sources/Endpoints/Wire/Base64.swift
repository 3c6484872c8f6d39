/// Base64 (RFC 4648, 4) of byte strings.
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  /// The value of each byte as a digit; 64 for those that are none.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 64, count: 256)
    for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
    return values
  }()

  /// nil for anything but whole groups of four, padded.
  package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)[...]) }

  static func decode(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard digits.count % 4 == 0, padding <= 2 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 4 * 3)
    var group: UInt32 = 0
    for (place, digit) in digits.enumerated() {
      let value = place < digits.count - padding ? values[Int(digit)] : 0
      guard value < 64 else { return nil }
      group = group << 6 | UInt32(value)
      guard place % 4 == 3 else { continue }
      bytes.append(UInt8(group >> 16 & 0xFF))
      bytes.append(UInt8(group >> 8 & 0xFF))
      bytes.append(UInt8(group & 0xFF))
    }
    bytes.removeLast(padding)
    return bytes
  }

  package static func encode(_ bytes: [UInt8]) -> String {
    var digits: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let part = bytes[start..<min(start + 3, bytes.count)]
      let group = part.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - part.count))
      for place in 0..<4 {
        digits.append(
          place > part.count ? UInt8(ascii: "=") : alphabet[Int(group >> (18 - 6 * UInt32(place)) & 63)])
      }
    }
    return String(decoding: digits, as: UTF8.self)
  }
}
