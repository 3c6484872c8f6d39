/// An input in the form of a message: a first line, header lines, an empty line, a body.
struct Message {
  var start: [String] = []
  var fields: [(name: String, value: String)] = []
  var body: [UInt8] = []

  init(_ bytes: [UInt8]) {
    var rest = bytes[...]
    start = Self.line(&rest).split(separator: " ").map(String.init)
    while !rest.isEmpty {
      let line = Self.line(&rest)
      if line.isEmpty { break }
      let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
      let value = line[colon...].unicodeScalars.dropFirst().drop { $0 == " " }
      fields.append((String(line[..<colon]), String(value)))
    }
    body = Array(rest)
  }

  func number(_ index: Int) -> Int64? { index < start.count ? Int64(start[index]) : nil }

  private static func line(_ rest: inout ArraySlice<UInt8>) -> String {
    let line = rest.prefix { $0 != UInt8(ascii: "\n") }
    rest = rest[line.endIndex...].dropFirst()
    return String(decoding: line, as: UTF8.self)
  }
}
