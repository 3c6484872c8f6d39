internal import JobModel

/// RFC 4180: quoted cells may hold commas, line ends and doubled quotes; a BOM and CRLF are accepted.
final class CSVReader: RowReader {
  private struct Cell {
    var start: Int
    var end: Int
    var hasDoubledQuotes: Bool
  }
  private enum Scan {
    case row(end: Int)
    case more
    case fault(String, at: Int)
  }

  private let buffer: RowBuffer
  private let givenColumns: [String]?
  private var header: [String] = []
  private var bound: [Int] = []
  private var cells: [Cell] = []
  private var rowStart = 0
  private var rowLine = 1
  var line: Int { rowLine }

  init(_ buffer: RowBuffer, columns: [String]?) {
    self.buffer = buffer
    givenColumns = columns
  }

  func bind(_ names: [String]) throws(RowFault) -> (missing: [String], known: [String]) {
    header = givenColumns ?? []
    if givenColumns == nil {
      guard try advance() else {
        throw RowFault(
          message: "the file has no header row",
          hint: "name the columns in `for_each`: `columns: [path, sha256]`",
          place: RowPlace(line: 1, column: 1, lineText: ""), isFinal: true)
      }
      for index in cells.indices {
        let name: String
        do throws(ValueFault) {
          name = try text(cells[index])
        } catch {
          throw fault(error.message, at: cells[index].start, isFinal: true)
        }
        if !name.isEmpty, header.contains(name) {
          throw fault("two columns are named `\(name)`", at: cells[index].start, isFinal: true)
        }
        header.append(name)
      }
    }
    bound = names.map { header.firstIndex(of: $0) ?? 0 }
    return (names.filter { !header.contains($0) }, header)
  }

  func next() throws(RowFault) -> Bool {
    guard try advance() else { return false }
    guard cells.count == header.count else {
      throw fault(
        "the row has \(cells.count) cells, and there are \(header.count) columns", at: rowStart,
        isFinal: false,
        hint: "a cell with a comma is quoted")
    }
    return true
  }

  func value(_ index: Int) throws(ValueFault) -> String { try text(cells[bound[index]]) }

  func append(_ index: Int, to bytes: inout [UInt8]) -> Bool {
    let cell = cells[bound[index]]
    guard !cell.hasDoubledQuotes, cell.start < cell.end else { return false }
    bytes += buffer.bytes[cell.start..<cell.end]
    return true
  }

  func appendRow(to bytes: inout [UInt8]) -> Bool {
    bytes += buffer.bytes[rowStart..<buffer.start]
    return true
  }

  func appendHead(to bytes: inout [UInt8]) {
    for name in header { bytes += name.utf8 + [0] }
  }

  func place(_ index: Int?) -> RowPlace {
    let cell = index.flatMap { bound[$0] < cells.count ? cells[bound[$0]].start : nil }
    return buffer.place(of: cell ?? rowStart, from: rowStart, line: rowLine)
  }

  /// To the next row that is not an empty line.
  private func advance() throws(RowFault) -> Bool {
    while true {
      try buffer.check()
      rowStart = buffer.start
      rowLine = buffer.line
      cells.removeAll(keepingCapacity: true)
      switch scan() {
      case .more:
        guard buffer.bytes.count - buffer.start <= RowBuffer.longestRow else {
          throw fault(
            "a row of more than \(RowBuffer.longestRow >> 20) MiB", at: rowStart, isFinal: true,
            hint: "a quote may not be closed")
        }
        buffer.fill()
      case .fault(let message, let index):
        let fault = fault(
          message, at: index, isFinal: true, hint: "a cell with `\"` is quoted, and each `\"` in it doubled")
        throw fault
      case .row(let end):
        guard end > rowStart else { return false }
        let isBlank = cells.count == 1 && cells[0].start == cells[0].end && buffer.bytes[rowStart] != 0x22
        buffer.consume(upTo: end, lines: newlines)
        if !isBlank { return true }
      }
    }
  }

  private var newlines = 0

  /// Splits the row at `rowStart` into cells; `end` is behind its line end.
  private func scan() -> Scan {
    let bytes = buffer.bytes
    let count = bytes.count
    var index = rowStart
    newlines = 0
    if index == count { return buffer.isAtEnd ? .row(end: index) : .more }
    while true {
      if index < count, bytes[index] == 0x22 {
        let open = index
        var doubled = false
        index += 1
        while true {
          guard index < count else {
            return buffer.isAtEnd ? .fault("a quote is not closed", at: open) : .more
          }
          let byte = bytes[index]
          if byte == 0x0A { newlines += 1 }
          if byte == 0x22 {
            if index + 1 == count, !buffer.isAtEnd { return .more }
            guard index + 1 < count, bytes[index + 1] == 0x22 else { break }
            doubled = true
            index += 1
          }
          index += 1
        }
        cells.append(Cell(start: open + 1, end: index, hasDoubledQuotes: doubled))
        index += 1
        if index < count, bytes[index] == 0x0D {
          index += 1
          if index == count, !buffer.isAtEnd { return .more }
        }
        if index < count, bytes[index] != 0x2C, bytes[index] != 0x0A {
          return .fault("text after a closing quote", at: index)
        }
      } else {
        let first = index
        while index < count, bytes[index] != 0x2C, bytes[index] != 0x0A {
          if bytes[index] == 0x22 { return .fault("a quote inside a cell that is not quoted", at: index) }
          index += 1
        }
        let atLineEnd = index == count || bytes[index] == 0x0A
        let end = atLineEnd && index > first && bytes[index - 1] == 0x0D ? index - 1 : index
        cells.append(Cell(start: first, end: end, hasDoubledQuotes: false))
      }
      guard index < count else { return buffer.isAtEnd ? .row(end: index) : .more }
      let byte = bytes[index]
      index += 1
      if byte == 0x0A {
        newlines += 1
        return .row(end: index)
      }
    }
  }

  private func text(_ cell: Cell) throws(ValueFault) -> String {
    guard let text = String(validating: buffer.bytes[cell.start..<cell.end], as: UTF8.self) else {
      throw ValueFault("the cell is not UTF-8", hint: "save the file as UTF-8")
    }
    guard cell.hasDoubledQuotes else { return text }
    var result = ""
    var wasQuote = false
    for scalar in text.unicodeScalars {
      wasQuote = scalar == "\"" && !wasQuote
      if !wasQuote { result.unicodeScalars.append(scalar) }
    }
    return result
  }

  private func fault(_ message: String, at index: Int, isFinal: Bool, hint: String? = nil) -> RowFault {
    RowFault(
      message: message, hint: hint, place: buffer.place(of: index, from: rowStart, line: rowLine),
      isFinal: isFinal)
  }
}
