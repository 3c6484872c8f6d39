internal import JobModel

/// One JSON object a line; text, numbers and booleans can be used, `null` is an empty cell.
final class JSONLinesReader: RowReader {
  private let buffer: RowBuffer
  private var names: [String] = []
  private var current = 0..<0
  private(set) var line = 0
  private var values: [JSONLine.Value?] = []
  private(set) var unseen: [String] = []

  init(_ buffer: RowBuffer) { self.buffer = buffer }

  func bind(_ names: [String]) -> (missing: [String], known: [String]) {
    self.names = names
    unseen = names
    return ([], names)
  }

  func next() throws(RowFault) -> Bool {
    repeat {
      line = buffer.line
      guard let next = try buffer.nextLine() else { return false }
      current = next
    } while buffer.bytes[current].allSatisfy { $0 == 0x20 || $0 == 0x09 }
    var parser = JSONLine(buffer.bytes[current], wanted: names)
    do throws(JSONReader.Fault) {
      values = try parser.object()
      if !unseen.isEmpty {
        for (name, value) in zip(names, values) where value != nil { unseen.removeAll { $0 == name } }
      }
    } catch {
      throw RowFault(
        message: error.message, hint: "each line is one JSON object",
        place: buffer.place(of: error.index, from: current.lowerBound, line: line), isFinal: false)
    }
    return true
  }

  func value(_ index: Int) throws(ValueFault) -> String {
    switch values[index]?.content {
    case nil: return ""
    case .text(let text): return text
    case .nested:
      throw ValueFault(
        "`each.\(names[index])` is a list or an object in this row",
        hint: "text, a number or a boolean is wanted")
    }
  }

  func appendRow(to bytes: inout [UInt8]) -> Bool {
    bytes += buffer.bytes[current]
    return true
  }

  func place(_ index: Int?) -> RowPlace {
    let at = index.flatMap { values.isEmpty ? nil : values[$0]?.index } ?? current.lowerBound
    return buffer.place(of: at, from: current.lowerBound, line: line)
  }
}
