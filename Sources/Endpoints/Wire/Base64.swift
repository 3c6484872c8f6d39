import Foundation

/// Base64 (RFC 4648, 4) and hex of byte strings.
package enum Base64 {
  package static func decode(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map { Array($0) } }
  package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

  package static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
