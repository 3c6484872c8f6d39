/// An answer's header fields, in the order they came; names compare without regard to ASCII case.
package struct CurlHeaders: Sendable, RandomAccessCollection {
  package struct Field: Sendable, Hashable {
    package let name: String
    package fileprivate(set) var value: String
  }

  private var fields: [Field] = []

  package init() {}

  package init(_ fields: [(String, String)]) {
    self.fields = fields.map { Field(name: $0.0, value: $0.1) }
  }

  package var startIndex: Int { fields.startIndex }
  package var endIndex: Int { fields.endIndex }
  package subscript(position: Int) -> Field { fields[position] }

  /// The first value of that name.
  package subscript(name: String) -> String? {
    fields.first { Self.same($0.name, name) }?.value
  }

  /// Every value of that name.
  package func all(_ name: String) -> [String] {
    fields.filter { Self.same($0.name, name) }.map(\.value)
  }

  /// A Content-Length that can't be one, or that differs from another one: where the body ends is not known then
  /// (RFC 9112, 6.3). The same number may come twice.
  var badContentLength: String? {
    // The body's length is told by its coding.
    guard self["Transfer-Encoding"] == nil else { return nil }
    let values = all("Content-Length").flatMap { $0.split { $0 == "," || $0 == " " } }
    let bad = values.first { value in
      value != values[0] || !value.utf8.allSatisfy { (48...57).contains($0) } || Int64(value) == nil
    }
    return bad.map { String($0) }
  }

  /// Adds a line as it came; a line without a colon is passed over.
  ///
  /// A line that begins with a blank goes on with the one before it (RFC 9112, 5.2).
  mutating func add(line: UnsafeRawBufferPointer) {
    if let first = line.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
      guard !fields.isEmpty else { return }
      // In place: an answer may have thousands of them.
      fields[fields.count - 1].value += " " + Self.text(Self.trimmed(line[...]))
      return
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
    let name = String(decoding: line[..<colon], as: UTF8.self)
    fields.append(Field(name: name, value: Self.text(Self.trimmed(line[(colon + 1)...]))))
  }

  /// Bytes that are not UTF-8 are Latin-1, as they were before (RFC 9110, 5.5).
  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var text = ""
    for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    return text
  }

  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var bytes = bytes
    while let first = bytes.first, isSpace(first) { bytes.removeFirst() }
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return bytes
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || (9...13).contains(byte)
  }

  private static func same(_ one: String, _ other: String) -> Bool {
    guard one.utf8.count == other.utf8.count else { return false }
    var (one, other) = (one, other)
    return one.withUTF8 { one in
      other.withUTF8 { other in one.indices.allSatisfy { lower(one[$0]) == lower(other[$0]) } }
    }
  }

  private static func lower(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
