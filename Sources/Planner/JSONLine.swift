internal import JobModel

/// Reads the wanted members of one JSON object, each with its place; the rest is only checked.
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

  private let wanted: [String]
  private var reader: JSONReader

  init(_ bytes: ArraySlice<UInt8>, wanted: [String]) {
    self.wanted = wanted
    reader = JSONReader(bytes)
  }

  mutating func object() throws(JSONReader.Fault) -> [Value?] {
    var found = [Value?](repeating: nil, count: wanted.count)
    try reader.object { name, reader throws(JSONReader.Fault) in
      let index = reader.index
      let content = try Self.content(&reader)
      for (position, want) in wanted.enumerated() where want == name {
        found[position] = Value(content: content, index: index)
      }
    }
    try reader.end(after: "the object")
    return found
  }

  private static func content(_ reader: inout JSONReader) throws(JSONReader.Fault) -> Value.Content {
    switch reader.next() {
    case 0x22: return .text(try reader.string())
    case 0x7B, 0x5B, nil:
      _ = try reader.value()
      return .nested
    default:
      let word = try reader.word()
      return .text(word == "null" ? "" : word)
    }
  }
}
