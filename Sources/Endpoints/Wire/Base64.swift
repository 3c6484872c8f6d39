/// Base64 (RFC 4648, 4) and hex of byte strings.
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let values: [UInt8: UInt32] = Dictionary(
    uniqueKeysWithValues: alphabet.enumerated().map { ($1, UInt32($0)) })

  /// nil for anything but whole groups of four, padded.
  package static func decode(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard digits.count % 4 == 0, padding <= 2 else { return nil }
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: digits.count, by: 4) {
      var group: UInt32 = 0
      for index in start..<start + 4 {
        guard let value = index < digits.count - padding ? values[digits[index]] : 0 else { return nil }
        group = group << 6 | value
      }
      bytes += [UInt8(group >> 16), UInt8(group >> 8 & 0xFF), UInt8(group & 0xFF)]
    }
    return bytes.dropLast(padding)
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

  package static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
