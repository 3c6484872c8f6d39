/// Reads the wanted members of one JSON object (RFC 8259), each with its place; the rest is only checked.
struct JSONLine {
  struct Value {
    enum Content {
      /// A number as written, `true`, `false`, and "" for `null`.
      case text(String)
      case nested
    }
    var content: Content
    var index: Int
  }
  struct Fault: Error {
    var message: String
    var index: Int
  }

  private let bytes: ArraySlice<UInt8>
  private let wanted: [String]
  private var index: Int

  init(_ bytes: ArraySlice<UInt8>, wanted: [String]) {
    self.bytes = bytes
    self.wanted = wanted
    index = bytes.startIndex
  }

  mutating func object() throws(Fault) -> [Value?] {
    var found = [Value?](repeating: nil, count: wanted.count)
    skipBlanks()
    try expect(0x7B, "an object")
    if !take(0x7D) {
      repeat {
        skipBlanks()
        let name = try string()
        skipBlanks()
        try expect(0x3A, "`:`")
        skipBlanks()
        let at = index
        let content = try value(depth: 0)
        for (position, want) in wanted.enumerated() where want == name {
          found[position] = Value(content: content, index: at)
        }
      } while take(0x2C)
      try expect(0x7D, "`,` or `}`")
    }
    skipBlanks()
    guard index == bytes.endIndex else { throw Fault(message: "text after the object", index: index) }
    return found
  }

  private mutating func value(depth: Int) throws(Fault) -> Value.Content {
    guard depth < 64 else { throw Fault(message: "nested too deep", index: index) }
    guard index < bytes.endIndex else { throw Fault(message: "a value is missing", index: index) }
    switch bytes[index] {
    case 0x22: return .text(try string())
    case 0x7B, 0x5B:
      let isObject = bytes[index] == 0x7B
      let close: UInt8 = isObject ? 0x7D : 0x5D
      index += 1
      if take(close) { return .nested }
      repeat {
        skipBlanks()
        if isObject {
          _ = try string()
          skipBlanks()
          try expect(0x3A, "`:`")
          skipBlanks()
        }
        _ = try value(depth: depth + 1)
      } while take(0x2C)
      try expect(close, isObject ? "`,` or `}`" : "`,` or `]`")
      return .nested
    default: return .text(try word())
    }
  }

  private mutating func word() throws(Fault) -> String {
    let start = index
    while index < bytes.endIndex, !" \t,}]".utf8.contains(bytes[index]) { index += 1 }
    let word = String(decoding: bytes[start..<index], as: UTF8.self)
    switch word {
    case "null": return ""
    case "true", "false": return word
    default: break
    }
    let digits = word.hasPrefix("-") ? word.dropFirst() : word[...]
    let isNumber = digits.utf8.first.map { (0x30...0x39).contains($0) } ?? false
    guard isNumber, Double(word) != nil, digits.utf8.allSatisfy({ "0123456789.eE+-".utf8.contains($0) })
    else {
      throw Fault(message: "`\(word)` is not a JSON value", index: start)
    }
    return word
  }

  private mutating func string() throws(Fault) -> String {
    let open = index
    try expect(0x22, "`\"`")
    var scalars = String.UnicodeScalarView()
    var run = index
    func flush(_ end: Int, _ view: inout String.UnicodeScalarView) throws(Fault) {
      guard let text = String(validating: bytes[run..<end], as: UTF8.self) else {
        throw Fault(message: "the text is not UTF-8", index: open)
      }
      view.append(contentsOf: text.unicodeScalars)
    }
    while index < bytes.endIndex {
      switch bytes[index] {
      case 0x22:
        try flush(index, &scalars)
        index += 1
        return String(scalars)
      case 0x5C:
        try flush(index, &scalars)
        index += 1
        scalars.append(try escape())
        run = index
      case ..<0x20: throw Fault(message: "a control character in a text", index: index)
      default: index += 1
      }
    }
    throw Fault(message: "a text is not closed", index: open)
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

  private mutating func skipBlanks() {
    while index < bytes.endIndex, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    skipBlanks()
    guard index < bytes.endIndex, bytes[index] == byte else { return false }
    index += 1
    return true
  }

  private mutating func expect(_ byte: UInt8, _ what: String) throws(Fault) {
    guard take(byte) else { throw Fault(message: "\(what) is wanted here", index: index) }
  }
}
