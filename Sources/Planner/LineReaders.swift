internal import JobModel

/// One line, one row: `${each.line}`. Empty lines are no rows.
final class ListReader: RowReader {
  private let buffer: RowBuffer
  private var current = 0..<0
  private(set) var line = 0

  init(_ buffer: RowBuffer) { self.buffer = buffer }

  func bind(_ names: [String]) -> (missing: [String], known: [String]) {
    (names.filter { $0 != "line" }, ["line"])
  }

  func next() throws(RowFault) -> Bool {
    repeat {
      line = buffer.line
      guard let next = try buffer.nextLine() else { return false }
      current = next
    } while current.isEmpty
    return true
  }

  func value(_ index: Int) throws(ValueFault) -> String {
    guard let text = String(validating: buffer.bytes[current], as: UTF8.self) else {
      throw ValueFault("the line is not UTF-8", hint: "save the file as UTF-8")
    }
    return text
  }

  func append(_ index: Int, to bytes: inout [UInt8]) -> Bool {
    bytes += buffer.bytes[current]
    return true
  }

  func appendRow(to bytes: inout [UInt8]) -> Bool {
    bytes += buffer.bytes[current]
    return true
  }

  func place(_ index: Int?) -> RowPlace {
    buffer.place(of: current.lowerBound, from: current.lowerBound, line: line)
  }
}

/// sha256sum's format: the digest, a blank, a blank or `*`, the name; `\` first where the name is escaped.
final class ChecksumsReader: RowReader {
  private let buffer: RowBuffer
  private var current = 0..<0
  private(set) var line = 0
  private var digest = 0..<0
  private var name = 0..<0
  private var isEscaped = false
  private var wantsPath: [Bool] = []

  init(_ buffer: RowBuffer) { self.buffer = buffer }

  func bind(_ names: [String]) -> (missing: [String], known: [String]) {
    wantsPath = names.map { $0 == "path" }
    return (names.filter { $0 != "path" && $0 != "sha256" }, ["path", "sha256"])
  }

  func next() throws(RowFault) -> Bool {
    repeat {
      line = buffer.line
      guard let next = try buffer.nextLine() else { return false }
      current = next
    } while current.isEmpty
    let bytes = buffer.bytes
    isEscaped = bytes[current.lowerBound] == 0x5C
    let start = current.lowerBound + (isEscaped ? 1 : 0)
    digest = start..<min(start + 64, current.upperBound)
    let isHex = bytes[digest].allSatisfy { $0.isHexDigit }
    let isSeparated =
      digest.upperBound + 2 < current.upperBound && bytes[digest.upperBound] == 0x20
      && (bytes[digest.upperBound + 1] == 0x20 || bytes[digest.upperBound + 1] == 0x2A)
    guard digest.count == 64, isHex, isSeparated else {
      throw RowFault(
        message: "the line is not sha256sum's", hint: "64 hex characters, two blanks, the path",
        place: place(nil),
        isFinal: false)
    }
    name = digest.upperBound + 2..<current.upperBound
    return true
  }

  func value(_ index: Int) throws(ValueFault) -> String {
    let range = wantsPath[index] ? name : digest
    guard let text = String(validating: buffer.bytes[range], as: UTF8.self) else {
      throw ValueFault("the name is not UTF-8", hint: "rename the file")
    }
    guard wantsPath[index], isEscaped else { return text }
    var result = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      guard scalar == "\\", let next = rest.popFirst() else {
        result.append(scalar)
        continue
      }
      switch next {
      case "n": result.append("\n")
      case "r": result.append("\r")
      default: result.append(next)
      }
    }
    return String(result)
  }

  func appendRow(to bytes: inout [UInt8]) -> Bool {
    bytes += buffer.bytes[current]
    return true
  }

  func place(_ index: Int?) -> RowPlace {
    let at = index.map { wantsPath[$0] ? name.lowerBound : digest.lowerBound } ?? current.lowerBound
    return buffer.place(of: at, from: current.lowerBound, line: line)
  }
}
