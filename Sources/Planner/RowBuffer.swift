internal import JobModel
internal import Posix

/// A text read in blocks, of which the current row is always whole in memory.
final class RowBuffer {
  /// A row of this many bytes is a fault: most likely a quote is not closed.
  static let longestRow = 16 << 20
  private let source: any BlockSource
  private(set) var bytes: [UInt8] = []
  private(set) var isAtEnd = false
  /// Index of the first byte that is not consumed.
  private(set) var start = 0
  private(set) var line = 1
  private(set) var readError: String?

  private let kind: Masked.Line

  /// - Parameter kind: what the file's lines are, for the secrets in one that is shown.
  convenience init(path: String, kind: Masked.Line) throws(SystemError) {
    self.init(try FileBlocks(path), kind: kind)
  }

  init(_ source: any BlockSource, kind: Masked.Line) {
    self.source = source
    self.kind = kind
    fill()
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
  }

  /// Reads another block behind what is there; the bytes before `start` are dropped, so indexes change.
  func fill() {
    bytes.removeSubrange(..<start)
    start = 0
    do {
      let block = try source.next()
      isAtEnd = block.isEmpty
      bytes += block
    } catch {
      readError = "\(error)"
      isAtEnd = true
    }
  }

  func consume(upTo index: Int, lines: Int) {
    start = index
    line += lines
  }

  /// The line that holds a byte at or after `start`, and the byte's column, as of the bytes in memory.
  func place(of index: Int, from rowStart: Int, line rowLine: Int) -> RowPlace {
    var lineStart = rowStart
    var line = rowLine
    for position in rowStart..<max(rowStart, min(index, bytes.count)) where bytes[position] == 0x0A {
      lineStart = position + 1
      line += 1
    }
    var end = lineStart
    while end < bytes.count, bytes[end] != 0x0A, bytes[end] != 0x0D, end - lineStart < 4096 { end += 1 }
    let before = String(decoding: bytes[lineStart..<max(lineStart, min(index, bytes.count))], as: UTF8.self)
    return RowPlace(
      line: line, column: before.unicodeScalars.count + 1,
      lineText: Masked.text(String(decoding: bytes[lineStart..<end], as: UTF8.self), in: kind))
  }

  /// A file that can't be read to its end is not a shorter one.
  func check() throws(RowFault) {
    guard let readError else { return }
    throw RowFault(
      message: "the file can't be read to its end: \(readError)",
      place: RowPlace(line: line, column: 1, lineText: ""),
      isFinal: true, isUnreadable: true)
  }

  /// The next line's bytes without its end, or nil at the end of the file.
  func nextLine() throws(RowFault) -> Range<Int>? {
    var search = start
    while true {
      try check()
      if let end = bytes[search...].firstIndex(of: 0x0A) {
        let last = end > start && bytes[end - 1] == 0x0D ? end - 1 : end
        defer { consume(upTo: end + 1, lines: 1) }
        return start..<last
      }
      if isAtEnd { break }
      guard bytes.count - start <= Self.longestRow else {
        throw RowFault(
          message: "a line of more than \(Self.longestRow >> 20) MiB",
          place: RowPlace(line: line, column: 1, lineText: ""), isFinal: true)
      }
      let seen = bytes.count - start
      fill()
      search = start + seen
    }
    guard start < bytes.count else { return nil }
    let end = bytes.count
    let last = bytes[end - 1] == 0x0D ? end - 1 : end
    defer { consume(upTo: end, lines: 1) }
    return start..<last
  }
}
