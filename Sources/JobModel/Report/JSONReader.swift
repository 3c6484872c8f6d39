/// Reads JSON text (RFC 8259) strictly: UTF-8, whole escapes, nothing behind the value, a bounded depth.
package struct JSONReader {
  package struct Fault: Error, Sendable, Hashable {
    package var message: String
    /// In the bytes that were given.
    package var index: Int
  }

  /// Deeper nesting than any API or ledger has; reading recurses.
  private static let deepest = 64
  private let bytes: ArraySlice<UInt8>
  private var depth = 0
  /// Of the next byte.
  package private(set) var index: Int

  package init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    index = bytes.startIndex
  }

  /// The byte that the next value begins with; nil at the end.
  package mutating func next() -> UInt8? {
    while index < bytes.endIndex, Self.isBlank(bytes[index]) { index += 1 }
    return index < bytes.endIndex ? bytes[index] : nil
  }

  package mutating func value() throws(Fault) -> JSON {
    switch next() {
    case nil: throw Fault(message: "a value is missing", index: index)
    case 0x22: return .string(try string())
    case 0x7B:
      var members: [JSON.Member] = []
      try object { name, reader throws(Fault) in members.append(.init(name, try reader.value())) }
      return .object(members)
    case 0x5B:
      var values: [JSON] = []
      try list(close: 0x5D, "`,` or `]`") { reader throws(Fault) in values.append(try reader.value()) }
      return .array(values)
    default:
      let start = index
      switch try word() {
      case "null": return .null
      case "true": return .bool(true)
      case "false": return .bool(false)
      case let text:
        if let whole = Int64(text) { return .integer(whole) }
        guard let number = Double(text), number.isFinite else {
          throw Fault(message: "the number `\(text)` is too large", index: start)
        }
        return .exact(number)
      }
    }
  }

  /// Reads an object; `member` is given each name and reads its value.
  package mutating func object(
    _ member: (_ name: String, _ reader: inout JSONReader) throws(Fault) -> Void
  ) throws(Fault) {
    guard next() == 0x7B else { throw Fault(message: "an object is wanted here", index: index) }
    try list(close: 0x7D, "`,` or `}`") { reader throws(Fault) in
      let name = try reader.string()
      try reader.expect(0x3A, "`:`")
      _ = reader.next()
      try member(name, &reader)
    }
  }

  /// - Throws: `Fault` unless all bytes are read.
  package mutating func end(after what: String) throws(Fault) {
    guard next() == nil else { throw Fault(message: "text after \(what)", index: index) }
  }

  /// `null`, `true`, `false`, or a number as it is written.
  package mutating func word() throws(Fault) -> String {
    _ = next()
    let start = index
    while index < bytes.endIndex, !Self.isBlank(bytes[index]), ![0x2C, 0x7D, 0x5D].contains(bytes[index]) {
      index += 1
    }
    let word = String(decoding: bytes[start..<index], as: UTF8.self)
    guard ["null", "true", "false"].contains(word) || Self.isNumber(bytes[start..<index]) else {
      throw Fault(message: "`\(word)` is not a JSON value", index: start)
    }
    return word
  }

  package mutating func string() throws(Fault) -> String {
    try expect(0x22, "`\"`")
    let open = index - 1
    var text = ""
    var run = index
    func flush(_ end: Int) throws(Fault) {
      guard let part = String(validating: bytes[run..<end], as: UTF8.self) else {
        throw Fault(message: "the text is not UTF-8", index: open)
      }
      if text.isEmpty { text = part } else { text += part }
    }
    while index < bytes.endIndex {
      switch bytes[index] {
      case 0x22:
        try flush(index)
        index += 1
        return text
      case 0x5C:
        try flush(index)
        index += 1
        text.unicodeScalars.append(try escape())
        run = index
      case ..<0x20: throw Fault(message: "a control character in a text", index: index)
      default: index += 1
      }
    }
    throw Fault(message: "a text is not closed", index: open)
  }

  /// An object or an array from its opening bracket on.
  private mutating func list(
    close: UInt8, _ wanted: String, _ element: (inout JSONReader) throws(Fault) -> Void
  ) throws(Fault) {
    depth += 1
    guard depth <= Self.deepest else { throw Fault(message: "nested too deep", index: index) }
    index += 1
    if !take(close) {
      repeat { try element(&self) } while take(0x2C)
      try expect(close, wanted)
    }
    depth -= 1
  }

  private mutating func escape() throws(Fault) -> Unicode.Scalar {
    guard index < bytes.endIndex else { throw Fault(message: "a text is not closed", index: index) }
    let byte = bytes[index]
    index += 1
    switch byte {
    case 0x22: return "\""
    case 0x5C: return "\\"
    case 0x2F: return "/"
    case 0x62: return "\u{8}"
    case 0x66: return "\u{C}"
    case 0x6E: return "\n"
    case 0x72: return "\r"
    case 0x74: return "\t"
    case 0x75:
      let high = try hex4()
      if let scalar = Unicode.Scalar(high) { return scalar }
      if high < 0xDC00, index + 1 < bytes.endIndex, bytes[index] == 0x5C, bytes[index + 1] == 0x75 {
        index += 2
        let low = try hex4()
        if (0xDC00...0xDFFF).contains(low),
          let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
        {
          return scalar
        }
      }
      throw Fault(message: "half a surrogate pair", index: index)
    default: throw Fault(message: "an unknown escape", index: index - 1)
    }
  }

  private mutating func hex4() throws(Fault) -> UInt32 {
    let end = min(index + 4, bytes.endIndex)
    let text = String(decoding: bytes[index..<end], as: UTF8.self)
    guard text.utf8.count == 4, text.allSatisfy(\.isHexDigit), let value = UInt32(text, radix: 16) else {
      throw Fault(message: "`\\u` wants four hex digits", index: index)
    }
    index = end
    return value
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next() == byte else { return false }
    index += 1
    return true
  }

  private mutating func expect(_ byte: UInt8, _ what: String) throws(Fault) {
    guard take(byte) else { throw Fault(message: "\(what) is wanted here", index: index) }
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  private static func isNumber(_ text: ArraySlice<UInt8>) -> Bool {
    var rest = text
    func take(_ bytes: UInt8...) {
      if let first = rest.first, bytes.contains(first) { rest.removeFirst() }
    }
    func digits() -> Int {
      let before = rest.count
      rest = rest.drop { (0x30...0x39).contains($0) }
      return before - rest.count
    }
    take(0x2D)
    let startsWithZero = rest.first == 0x30
    let whole = digits()
    guard whole == 1 || whole > 1 && !startsWithZero else { return false }
    if rest.first == 0x2E {
      rest.removeFirst()
      guard digits() > 0 else { return false }
    }
    if rest.first == 0x65 || rest.first == 0x45 {
      rest.removeFirst()
      take(0x2B, 0x2D)
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty
  }
}
