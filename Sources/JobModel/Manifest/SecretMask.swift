import Locks

/// The secret values that are known so far, and the masking of them in texts of strangers: as they are, percent-encoded,
/// escaped as JSON has it, and in base64; and of a secret's beginning before an ellipsis.
package final class SecretMask: Sendable {
  /// Bytes; what is shorter is found in ordinary words.
  package static let shortest = 6
  package static let mask = "***"

  private struct Table: Sendable {
    /// The longest first: one may be a part of another.
    var values: [[UInt8]] = []
    /// Whether a value may begin with this byte, encoded or not.
    var starts = [Bool](repeating: false, count: 256)
  }
  private let table = Locked(Table())

  package init() {}

  /// Masks a name and password as `Authorization: Basic` has them, too (RFC 7617).
  package func learn(user: String, password: Secret) {
    learn(password)
    learn(Secret("\(user):\(password.reveal())"))
  }

  /// Masks this value, and its base64, from now on.
  package func learn(_ secret: Secret) {
    let value = Array(secret.reveal().utf8)
    // Several lines (a key in PEM) are quoted a line at a time.
    for part in [value] + value.split(separator: 10).map(Array.init) where part.count >= Self.shortest {
      add(part)
      // Who echoes it may leave the padding out, or write it for a URL.
      for digits in ["+/", "-_"] { add(Self.base64(part, last: Array(digits.utf8))) }
    }
  }

  /// Masks a text from now on, and not its base64.
  package func learn(plain text: String) { add(Array(text.utf8)) }

  private func add(_ value: [UInt8]) {
    table.withLock { table in
      guard let first = value.first, !table.values.contains(value) else { return }
      let place = table.values.firstIndex { $0.count < value.count } ?? table.values.endIndex
      table.values.insert(value, at: place)
      for byte in [first] + Array("%\\+".utf8) { table.starts[Int(byte)] = true }
    }
  }

  package var isEmpty: Bool { table.withLock { $0.values.isEmpty } }

  /// The text with `***` for each secret in it.
  package func masked(_ text: String) -> String {
    let table = table.withLock { $0 }
    guard !table.values.isEmpty else { return text }
    var text = text
    let masked = text.withUTF8 { bytes -> [UInt8]? in
      var out: [UInt8]?
      var (copied, position) = (0, 0)
      while position < bytes.count {
        guard let end = Self.match(table, bytes, position) else {
          position += 1
          continue
        }
        out = (out ?? []) + bytes[copied..<position] + Self.mask.utf8
        (copied, position) = (end, end)
      }
      return out.map { $0 + bytes[copied...] }
    }
    return masked.map { String(decoding: $0, as: UTF8.self) } ?? text
  }

  /// Whether a secret stands in it.
  package func finds(in text: String) -> Bool {
    let table = table.withLock { $0 }
    guard !table.values.isEmpty else { return false }
    var text = text
    return text.withUTF8 { bytes in bytes.indices.contains { Self.match(table, bytes, $0) != nil } }
  }

  /// Where the secret that begins here ends, or the part of it that was left where the text was truncated.
  private static func match(_ table: Table, _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int? {
    guard table.starts[Int(bytes[start])] else { return nil }
    for value in table.values {
      var (position, count) = (start, 0)
      while count < value.count, let next = next(bytes, position, is: value[count]) {
        (position, count) = (next, count + 1)
      }
      if count == value.count { return position }
      if count >= shortestPart, let end = cut(bytes, position) { return end }
    }
    return nil
  }

  /// Bytes of a secret's beginning that tell nothing of it.
  private static let shortestPart = 3

  /// The place of the ellipsis where a text was truncated here, or within the coded character that begins here.
  private static func cut(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int) -> Int? {
    let isCoded = at < bytes.count && [UInt8(ascii: "%"), UInt8(ascii: "\\")].contains(bytes[at])
    return (at...at + (isCoded ? 5 : 0)).first { bytes.dropFirst($0).starts(with: "…".utf8) }
  }

  /// Where the next character begins if the one here means this byte, in whatever coding.
  private static func next(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int, is byte: UInt8) -> Int? {
    guard at < bytes.count else { return nil }
    if bytes[at] == byte { return at + 1 }
    switch bytes[at] {
    case UInt8(ascii: "+"): return byte == 0x20 ? at + 1 : nil
    case UInt8(ascii: "%"): return hex(bytes, at + 1, digits: 2) == Int(byte) ? at + 3 : nil
    case UInt8(ascii: "\\"):
      guard at + 1 < bytes.count else { return nil }
      if bytes[at + 1] == byte { return at + 2 }
      guard bytes[at + 1] == UInt8(ascii: "u") else { return nil }
      return hex(bytes, at + 2, digits: 4) == Int(byte) ? at + 6 : nil
    default: return nil
    }
  }

  /// Base64 without padding (RFC 4648, 4 and 5).
  private static func base64(_ bytes: [UInt8], last: [UInt8]) -> [UInt8] {
    let digits =
      Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8) + last
    var out: [UInt8] = []
    var (bits, count) = (0, 0)
    for byte in bytes {
      (bits, count) = ((bits << 8 | Int(byte)) & 0xFFFF, count + 8)
      while count >= 6 {
        count -= 6
        out.append(digits[bits >> count & 63])
      }
    }
    if count > 0 { out.append(digits[bits << (6 - count) & 63]) }
    return out
  }

  private static func hex(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int, digits: Int) -> Int? {
    guard at + digits <= bytes.count else { return nil }
    var value = 0
    for byte in bytes[at..<at + digits] {
      switch byte {
      case 0x30...0x39: value = value << 4 | Int(byte - 0x30)
      case 0x41...0x46: value = value << 4 | Int(byte - 0x37)
      case 0x61...0x66: value = value << 4 | Int(byte - 0x57)
      default: return nil
      }
    }
    return value
  }
}
