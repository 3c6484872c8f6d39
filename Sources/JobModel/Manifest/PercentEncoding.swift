/// Percent-encoding of UTF-8 bytes, for ids and for the filter `|url`.
package enum PercentEncoding {
  package static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }

  /// What may stand in a transfer's id as it is.
  package static func isIDByte(_ byte: UInt8) -> Bool {
    isAlphanumeric(byte) || byte == 0x2E || byte == 0x5F || byte == 0x2F || byte == 0x2D
  }

  /// A text as part of a fan-out's id.
  package static func id(_ text: String) -> String { encode(text, keeping: isIDByte) }

  /// A text of `needs`, which may be a glob and may be encoded already: an id never holds the characters that are encoded.
  package static func need(_ text: String) -> String {
    encode(text) { isIDByte($0) || "%*?[]{}!,\\".utf8.contains($0) }
  }

  package static func encode(_ text: String, keeping isKept: (UInt8) -> Bool) -> String {
    if text.allBytes(isKept) { return text }
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 16)
    for byte in text.utf8 {
      if isKept(byte) {
        bytes.append(byte)
      } else {
        bytes += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
