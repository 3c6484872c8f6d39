import Locks

/// The secret values that are known so far, and the masking of them in texts of strangers: as they are, percent-encoded,
/// escaped as JSON and HTML have it, and in base64; and of a secret's beginning before an ellipsis.
package final class SecretMask: Sendable {
  /// Bytes; what is shorter is found in ordinary words.
  package static let shortest = 6
  package static let mask = "***"

  private struct Table: Sendable {
    /// The longest first: one may be a part of another.
    var values: [[UInt8]] = []
    /// Whether a value may begin with this byte, encoded or not.
    var starts = [Bool](repeating: false, count: 256)
    /// What hexadecimal digits stand behind that are secret.
    var labels: [[UInt8]] = []

    var isEmpty: Bool { values.isEmpty && labels.isEmpty }

    mutating func expect(_ first: UInt8) {
      for byte in [first] + Array("%\\+&".utf8) { starts[Int(byte)] = true }
    }
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
      table.expect(first)
    }
  }

  /// Masks, in texts, the hexadecimal digits behind this label from now on: each request has another signature.
  package func learn(label: String) {
    let label = Array(label.utf8)
    table.withLock { table in
      guard let first = label.first, !table.labels.contains(label) else { return }
      table.labels.append(label)
      table.expect(first)
    }
  }

  package var isEmpty: Bool { table.withLock { $0.values.isEmpty } }

  /// The text with `***` for each secret in it.
  package func masked(_ text: String) -> String {
    let table = table.withLock { $0 }
    guard !table.isEmpty else { return text }
    var text = text
    let masked = text.withUTF8 { bytes -> [UInt8]? in
      var out: [UInt8]?
      var (copied, position) = (0, 0)
      while position < bytes.count {
        guard let end = Self.match(table, bytes, position) ?? Self.labelled(table, bytes, position) else {
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
      if let end = rest(of: value, 0, bytes, start) { return end }
    }
    return nil
  }

  /// Where the digits end whose label begins here.
  private static func labelled(_ table: Table, _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int? {
    guard table.starts[Int(bytes[start])] else { return nil }
    for label in table.labels {
      guard let end = rest(of: label, 0, bytes, start) else { continue }
      let digits = bytes.dropFirst(end).prefix { $0.isHexDigit }
      if digits.count >= shortest { return end + digits.count }
    }
    return nil
  }

  /// Where a value ends of which `known` bytes were found, and the others stand here, each in whatever coding.
  private static func rest(
    of value: [UInt8], _ known: Int, _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int
  ) -> Int? {
    var (count, position) = (known, start)
    while count < value.count, position < bytes.count {
      let isItself = bytes[position] == value[count]
      if isItself, !isMark(bytes[position]) {
        (count, position) = (count + 1, position + 1)
        continue
      }
      let coded = decoded(bytes, position, as: value, count)
      if isItself {
        // `%25` is a percent sign, or the first byte of a value that has these three.
        if let coded, let end = rest(of: value, coded.count, bytes, coded.position) { return end }
        if let end = rest(of: value, count + 1, bytes, position + 1) { return end }
        break
      }
      guard let coded else { break }
      (count, position) = (coded.count, coded.position)
    }
    if count == value.count { return position }
    return count >= shortestPart ? cut(bytes, position) : nil
  }

  /// Bytes of a secret's beginning that tell nothing of it.
  private static let shortestPart = 3

  /// Whether a coding of another character may begin with it, which may also stand for itself.
  private static func isMark(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "&")
  }

  /// The place of the ellipsis where a text was truncated here, or within the coded character that begins here.
  private static func cut(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int) -> Int? {
    let isCoded = at < bytes.count && isMark(bytes[at])
    return (at...at + (isCoded ? 5 : 0)).first { bytes.dropFirst($0).starts(with: "…".utf8) }
  }

  /// How many bytes of the value are found with the coded character here, and where the next one begins; nil where it
  /// is another character.
  private static func decoded(
    _ bytes: UnsafeBufferPointer<UInt8>, _ at: Int, as value: [UInt8], _ count: Int
  ) -> (count: Int, position: Int)? {
    switch bytes[at] {
    case UInt8(ascii: "+"): return value[count] == 0x20 ? (count + 1, at + 1) : nil
    case UInt8(ascii: "%"):
      return hex(bytes, at + 1, digits: 2) == Int(value[count]) ? (count + 1, at + 3) : nil
    case UInt8(ascii: "\\"):
      if let (code, end) = escape(bytes, at), let bytesRead = width(of: code, in: value[count...]) {
        return (count + bytesRead, end)
      }
      return at + 1 < bytes.count && bytes[at + 1] == value[count] ? (count + 1, at + 2) : nil
    case UInt8(ascii: "&"):
      guard let (code, end) = entity(bytes, at), let bytesRead = width(of: code, in: value[count...]) else {
        return nil
      }
      return (count + bytesRead, end)
    default: return nil
    }
  }

  /// How many bytes a character has that these begin with: one where who wrote it has read them as Latin-1, else as
  /// UTF-8 has it.
  private static func width(of code: Int, in value: ArraySlice<UInt8>) -> Int? {
    if let first = value.first, Int(first) == code { return 1 }
    guard let number = UInt32(exactly: code), let scalar = Unicode.Scalar(number) else { return nil }
    let bytes = Array(String(Character(scalar)).utf8)
    return value.starts(with: bytes) ? bytes.count : nil
  }

  /// The character that JSON writes as `\uXXXX`, or as two of these (RFC 8259, 7), and where it ends.
  private static func escape(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int) -> (code: Int, end: Int)? {
    guard let high = unit(bytes, at) else { return nil }
    guard (0xD800...0xDBFF).contains(high), let low = unit(bytes, at + 6), (0xDC00...0xDFFF).contains(low)
    else { return (high, at + 6) }
    return (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), at + 12)
  }

  private static func unit(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int) -> Int? {
    guard at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u") else {
      return nil
    }
    return hex(bytes, at + 2, digits: 4)
  }

  /// The character that HTML writes as `&name;` or by its number, and where it ends.
  private static func entity(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int) -> (code: Int, end: Int)? {
    let word = bytes.dropFirst(at + 1).prefix(8).prefix { $0 != UInt8(ascii: ";") }
    let end = at + 1 + word.count
    guard end < bytes.count, bytes[end] == UInt8(ascii: ";") else { return nil }
    let name = String(decoding: word, as: UTF8.self)
    if let code = entities[name] { return (code, end + 1) }
    guard name.hasPrefix("#") else { return nil }
    let isHex = name.hasPrefix("#x") || name.hasPrefix("#X")
    let code = isHex ? Int(name.dropFirst(2), radix: 16) : Int(name.dropFirst())
    return code.map { ($0, end + 1) }
  }

  /// What writers of HTML escape by name.
  private static let entities = ["amp": 0x26, "lt": 0x3C, "gt": 0x3E, "quot": 0x22, "apos": 0x27]

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
