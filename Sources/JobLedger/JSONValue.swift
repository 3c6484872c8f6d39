/// A JSON text (RFC 8259) taken apart.
enum JSONValue {
  typealias Member = (name: String, value: JSONValue)
  case null
  case bool(Bool)
  case integer(Int64)
  /// Any number that is no `Int64`.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])

  /// Nil where the text is not JSON.
  init?(_ text: String) {
    var parser = JSONTextParser(Array(text.utf8))
    guard let value = parser.whole() else { return nil }
    self = value
  }

  var text: String? {
    if case .string(let text) = self { text } else { nil }
  }
}

/// Nil from any step means that the text is not JSON.
private struct JSONTextParser {
  private static let deepest = 64
  private let bytes: [UInt8]
  private var index = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func whole() -> JSONValue? {
    guard let value = value(depth: 0) else { return nil }
    skipBlanks()
    return index == bytes.count ? value : nil
  }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipBlanks() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    skipBlanks()
    guard next == byte else { return false }
    index += 1
    return true
  }

  private mutating func value(depth: Int) -> JSONValue? {
    skipBlanks()
    switch next {
    case UInt8(ascii: "{"): return depth < Self.deepest ? object(depth) : nil
    case UInt8(ascii: "["): return depth < Self.deepest ? array(depth) : nil
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "t"): return word("true") ? .bool(true) : nil
    case UInt8(ascii: "f"): return word("false") ? .bool(false) : nil
    case UInt8(ascii: "n"): return word("null") ? .null : nil
    default: return number()
    }
  }

  private mutating func object(_ depth: Int) -> JSONValue? {
    index += 1
    var members: [JSONValue.Member] = []
    if take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      skipBlanks()
      guard next == UInt8(ascii: "\""), let name = string(), take(UInt8(ascii: ":")),
        let value = value(depth: depth + 1)
      else { return nil }
      members.append((name, value))
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "}")) ? .object(members) : nil
  }

  private mutating func array(_ depth: Int) -> JSONValue? {
    index += 1
    var values: [JSONValue] = []
    if take(UInt8(ascii: "]")) { return .array(values) }
    repeat {
      guard let value = value(depth: depth + 1) else { return nil }
      values.append(value)
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "]")) ? .array(values) : nil
  }

  private mutating func word(_ word: StaticString) -> Bool {
    let length = word.utf8CodeUnitCount
    guard index + length <= bytes.count,
      word.withUTF8Buffer({ bytes[index..<index + length].elementsEqual($0) })
    else { return false }
    index += length
    return true
  }

  private mutating func number() -> JSONValue? {
    let start = index
    var isWhole = true
    while let byte = next {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): break
      case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"): isWhole = false
      default: return number(bytes[start..<index], isWhole: isWhole)
      }
      index += 1
    }
    return number(bytes[start...], isWhole: isWhole)
  }

  private func number(_ digits: ArraySlice<UInt8>, isWhole: Bool) -> JSONValue? {
    guard let first = digits.first, first == UInt8(ascii: "-") || first >= UInt8(ascii: "0") else {
      return nil
    }
    let text = String(decoding: digits, as: UTF8.self)
    if isWhole, let whole = Int64(text) { return .integer(whole) }
    return Double(text).map { .number($0) }
  }

  private mutating func string() -> String? {
    index += 1
    let start = index
    while let byte = next, byte != UInt8(ascii: "\"") {
      guard byte != UInt8(ascii: "\\") else { return escapedString(from: start) }
      index += 1
    }
    guard next != nil else { return nil }
    defer { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func escapedString(from start: Int) -> String? {
    var text = Array(bytes[start..<index])
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"): guard escape(to: &text) else { return nil }
      default: text.append(byte)
      }
    }
    return nil
  }

  private mutating func escape(to text: inout [UInt8]) -> Bool {
    guard let byte = next else { return false }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      guard let scalar = scalar() else { return false }
      text += String(Character(scalar)).utf8
    default: return false
    }
    return true
  }

  /// Of four hexadecimal digits, or of a surrogate pair.
  private mutating func scalar() -> Unicode.Scalar? {
    guard let first = unit() else { return nil }
    guard first & 0xFC00 == 0xD800 else { return Unicode.Scalar(first) }
    guard next == UInt8(ascii: "\\") else { return nil }
    index += 1
    guard next == UInt8(ascii: "u") else { return nil }
    index += 1
    guard let second = unit(), second & 0xFC00 == 0xDC00 else { return nil }
    return Unicode.Scalar(0x10000 + (first & 0x3FF) << 10 + second & 0x3FF)
  }

  private mutating func unit() -> UInt32? {
    guard index + 4 <= bytes.count else { return nil }
    defer { index += 4 }
    let digits = bytes[index..<index + 4]
    guard digits.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else { return nil }
    return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}
