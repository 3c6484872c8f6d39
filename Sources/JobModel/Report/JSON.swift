/// A JSON value (RFC 8259) whose objects keep the order in which they were written.
package enum JSON: Sendable, Hashable, ExpressibleByDictionaryLiteral, ExpressibleByStringLiteral {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  /// A number that is read back and must keep all its digits.
  case exact(Double)
  case string(String)
  case array([JSON])
  case object([Member])

  package struct Member: Sendable, Hashable {
    package var name: String
    package var value: JSON

    package init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }

  package init(stringLiteral value: String) { self = .string(value) }
  package init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
  package static func dictionary(_ members: [String: String]) -> JSON {
    .object(members.sorted { $0.key < $1.key }.map { Member($0.key, .string($0.value)) })
  }
  package static func text(_ value: String?) -> JSON { value.map { .string($0) } ?? .null }
  package static func int(_ value: Int64?) -> JSON { value.map { .integer($0) } ?? .null }
  package static func int(_ value: Int?) -> JSON { value.map { .integer(Int64($0)) } ?? .null }
  package static func double(_ value: Double?) -> JSON { value.map { .number($0) } ?? .null }

  /// Reads one value (`JSONReader`), behind a byte order mark where there is one; nil where the bytes are none.
  package init?(_ bytes: [UInt8]) {
    var reader = JSONReader(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...])
    do throws(JSONReader.Fault) {
      self = try reader.value()
      try reader.end(after: "the value")
    } catch {
      return nil
    }
  }

  /// A member's value; null where there is none. Of several with one name, the last counts.
  package subscript(_ name: String) -> JSON {
    members?.last { $0.name.utf8.count == name.utf8.count && $0.name.utf8.elementsEqual(name.utf8) }?.value
      ?? .null
  }

  package var members: [Member]? { if case .object(let members) = self { members } else { nil } }
  package var array: [JSON]? { if case .array(let values) = self { values } else { nil } }
  package var string: String? { if case .string(let text) = self { text } else { nil } }
  package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// A whole number that has its place in 64 bits.
  package var int64: Int64? {
    switch self {
    case .integer(let value): value
    case .number(let value), .exact(let value): value.magnitude < 0x1p63 ? Int64(exactly: value) : nil
    default: nil
    }
  }

  package var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value), .exact(let value): value
    default: nil
    }
  }

  /// The texts of an array that has nothing else.
  package var strings: [String]? {
    guard let texts = array?.compactMap(\.string), texts.count == array?.count else { return nil }
    return texts
  }

  /// The members of an object whose values are all text.
  package var dictionary: [String: String]? {
    guard let members else { return nil }
    let texts = members.compactMap { member in member.value.string.map { (member.name, $0) } }
    return texts.count == members.count ? Dictionary(texts, uniquingKeysWith: { $1 }) : nil
  }

  /// The value on one line.
  package var text: String {
    var out: [UInt8] = []
    out.reserveCapacity(256)
    write(to: &out)
    return String(decoding: out, as: UTF8.self)
  }

  /// Appends the value's UTF-8; `indent` of nil writes one line.
  package func write(to out: inout [UInt8], indent: Int? = nil) {
    switch self {
    case .null: out += "null".utf8
    case .bool(let value): out += (value ? "true" : "false").utf8
    case .integer(let value): out += String(value).utf8
    case .number(let value): out += Self.decimal(value).utf8
    case .exact(let value): out += (value.isFinite ? "\(value)" : "null").utf8
    case .string(let value): Self.quote(value, to: &out)
    case .array(let values):
      Self.list(values.count, "[", "]", indent, &out) { index, inner, out in
        values[index].write(to: &out, indent: inner)
      }
    case .object(let members):
      Self.list(members.count, "{", "}", indent, &out) { index, inner, out in
        Self.quote(members[index].name, to: &out)
        out.append(UInt8(ascii: ":"))
        if inner != nil { out.append(UInt8(ascii: " ")) }
        members[index].value.write(to: &out, indent: inner)
      }
    }
  }

  private static func list(
    _ count: Int, _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ indent: Int?, _ out: inout [UInt8],
    _ element: (Int, Int?, inout [UInt8]) -> Void
  ) {
    out.append(UInt8(ascii: open))
    let inner = indent.map { $0 + 2 }
    for index in 0..<count {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      if let inner { newLine(inner, &out) }
      element(index, inner, &out)
    }
    if count > 0, let indent { newLine(indent, &out) }
    out.append(UInt8(ascii: close))
  }

  private static func newLine(_ indent: Int, _ out: inout [UInt8]) {
    out.append(UInt8(ascii: "\n"))
    out.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent))
  }

  /// JSON has no infinities: they become null. Milliseconds are enough for every number we write.
  private static func decimal(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "null" }
    let thousandths = (value * 1000).rounded()
    if thousandths.truncatingRemainder(dividingBy: 1000) == 0 { return String(Int64(thousandths / 1000)) }
    return String(thousandths / 1000)
  }

  private static func quote(_ text: String, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { bytes in
      // What needs no escape is copied as one: mostly all of it.
      var written = 0
      for (index, byte) in bytes.enumerated() {
        guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7f else {
          continue
        }
        out.append(contentsOf: bytes[written..<index])
        escape(byte, to: &out)
        written = index + 1
      }
      out.append(contentsOf: bytes[written...])
    }
    out.append(UInt8(ascii: "\""))
  }

  private static func escape(_ byte: UInt8, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x0a: out.append(UInt8(ascii: "n"))
    case 0x0d: out.append(UInt8(ascii: "r"))
    case 0x09: out.append(UInt8(ascii: "t"))
    case 0..<0x20, 0x7f: out += ((byte < 16 ? "u000" : "u00") + String(byte, radix: 16)).utf8
    default: out.append(byte)
    }
  }
}
