import JobModel

/// Takes a report apart while it is read, however it is laid out: its members one by one, and of `transfers` each.
/// No more than one of them is in memory.
struct ReportPieces {
  enum Piece {
    case member(name: String, value: JSON)
    /// A transfer's JSON, not read yet.
    case transfer([UInt8])
  }

  private enum Place { case start, members, transfers, end }

  private let file: ReopenedFile
  private let blockSize: Int
  private var block: [UInt8] = []
  private var index = 0
  private var offset: Int64 = 0
  private var place = Place.start
  /// Something stands before the next member, or transfer: a comma must come.
  private var hasOne = false
  private var hasTransfers = false

  /// A member or a transfer has fewer bytes.
  private static let longest = 64 << 20

  init(_ file: ReopenedFile, blockSize: Int) {
    self.file = file
    self.blockSize = blockSize
  }

  /// Nil at the end of the report.
  mutating func next() throws(MergeFault) -> Piece? {
    while true {
      switch place {
      case .start:
        try skipMark()
        guard try take(0x7B) else { throw fault("it is not a JSON object") }
        place = .members
      case .members:
        if try take(0x7D) {
          place = .end
          continue
        }
        if let member = try member() { return member }
      case .transfers:
        if try take(0x5D) {
          (place, hasOne) = (.members, true)
          continue
        }
        try comma()
        return .transfer(try value())
      case .end:
        guard try peek() == nil else { throw fault("something follows the report") }
        return nil
      }
    }
  }

  /// Nil where it is `transfers`: its elements follow.
  private mutating func member() throws(MergeFault) -> Piece? {
    try comma()
    guard let name = JSON(try value())?.string else { throw fault("a member has no name") }
    guard try take(0x3A) else { throw fault("`:` is wanted behind `\(name.prefix(40))`") }
    guard name == "transfers", try peek() == 0x5B else {
      guard let value = JSON(try value()) else { throw fault("`\(name.prefix(40))` is not JSON") }
      return .member(name: name, value: value)
    }
    guard !hasTransfers else { throw fault("it has `transfers` twice") }
    _ = try take(0x5B)
    (place, hasOne, hasTransfers) = (.transfers, false, true)
    return nil
  }

  private mutating func comma() throws(MergeFault) {
    if hasOne, try !take(0x2C) { throw fault("`,` is wanted between two values") }
    hasOne = true
  }

  /// The bytes of the value that begins here; whether they are JSON is for who reads them to find.
  private mutating func value() throws(MergeFault) -> [UInt8] {
    _ = try peek()
    var scan = ValueScan()
    var bytes: [UInt8] = []
    while true {
      if index == block.count, try !fill() { throw fault("it ends in the midst of a value") }
      let end = scan.end(in: block, from: index)
      bytes += block[index..<end.index]
      index = end.index
      guard bytes.count < Self.longest else { throw fault("a value in it is longer than any of a report") }
      if end.isWhole { return bytes }
    }
  }

  /// The next byte that is not blank; nil at the end of the file.
  private mutating func peek() throws(MergeFault) -> UInt8? {
    while true {
      while index < block.count {
        let byte = block[index]
        guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
        index += 1
      }
      guard try fill() else { return nil }
    }
  }

  private mutating func take(_ byte: UInt8) throws(MergeFault) -> Bool {
    guard try peek() == byte else { return false }
    index += 1
    return true
  }

  /// A byte order mark.
  private mutating func skipMark() throws(MergeFault) {
    _ = try fill()
    if block.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
  }

  private mutating func fill() throws(MergeFault) -> Bool {
    block = try file.read(at: offset, count: blockSize)
    offset += Int64(block.count)
    index = 0
    return !block.isEmpty
  }

  func fault(_ what: String) -> MergeFault {
    MergeFault(.unreadable, "`\(file.path)` can't be read as a report: \(what)")
  }
}

/// Finds where a JSON value ends, block by block.
private struct ValueScan {
  private var depth = 0
  private var isText = false
  private var isEscaped = false

  /// - Returns: behind the value's last byte, or the block's end where it goes on.
  mutating func end(in block: [UInt8], from start: Int) -> (index: Int, isWhole: Bool) {
    var index = start
    while index < block.count {
      let byte = block[index]
      if isText {
        if isEscaped {
          isEscaped = false
        } else if byte == 0x5C {
          isEscaped = true
        } else if byte == 0x22 {
          isText = false
          if depth == 0 { return (index + 1, true) }
        }
      } else {
        switch byte {
        case 0x22: isText = true
        case 0x7B, 0x5B: depth += 1
        case 0x7D, 0x5D:
          // What closes before it opened is the list's own.
          if depth == 0 { return (index, true) }
          depth -= 1
          if depth == 0 { return (index + 1, true) }
        case 0x2C, 0x3A, 0x20, 0x0A, 0x0D, 0x09: if depth == 0 { return (index, true) }
        default: break
        }
      }
      index += 1
    }
    return (index, false)
  }
}
