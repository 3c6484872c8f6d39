import Endpoints
import JobModel

/// Reads ranges of an open file: several reads are under way at once, their bytes are given in order.
struct SFTPReading {
  struct Piece {
    var range: Range<Int64>
    var answer: SFTPAnswer
  }

  /// What came of a read.
  struct Outcome {
    /// The range's end, or before it, where the file ended.
    var end: Int64
    /// What the file is behind the last read, where that was asked along with it.
    var look: SFTPAnswer?
    /// A byte behind the file's end, as it was told, where that was asked for as well.
    var beyond: SFTPAnswer?
  }

  let files: SFTPFiles
  let handle: SFTPHandle
  let requests: any DirectRequests

  /// Asks for the first bytes of a range, before it is known what the file is: a small one costs no round trip more.
  nonisolated(nonsending) func start(_ range: Range<Int64>) async throws -> Piece? {
    guard !range.isEmpty else { return nil }
    return try await ask(range.lowerBound, upTo: range.upperBound)
  }

  private nonisolated(nonsending) func ask(_ start: Int64, upTo end: Int64) async throws -> Piece {
    let next = start..<min(end, start + Int64(step))
    try await requests.pace(next.count, .download)
    return Piece(range: next, answer: try post(next))
  }

  /// - Returns: nil at the file's end.
  nonisolated(nonsending) func bytes(of piece: Piece) async throws -> ArraySlice<UInt8>? {
    let reply = try await piece.answer.value()
    if case .status(let status) = reply, status.code == .end { return nil }
    guard case .data(let all) = try files.refused(reply, "read"), !all.isEmpty else {
      throw files.confused("read")
    }
    // One that was begun with may reach behind the range.
    return all.prefix(piece.range.count)
  }

  private var step: Int { max(1, requests.step(handle.connection.readLength, .download)) }

  /// - Parameters:
  ///   - first: what `start` has asked for.
  ///   - size: the file's, as told: what it is in the end is asked along with the last read.
  ///   - room: waits until more bytes can be used.
  ///   - use: given the bytes.
  nonisolated(nonsending) func read(
    _ range: Range<Int64>, after first: Piece? = nil, told size: Int64? = nil,
    room: nonisolated(nonsending) () async -> Void = {}, use: (UnsafeRawBufferPointer) throws -> Void
  ) async throws -> Outcome {
    handle.connection.bodyBegins()
    defer { handle.connection.bodyEnds() }
    var pieces: [Piece] = []
    var (position, asked) = (range.lowerBound, range.lowerBound)
    if var first {
      first.range = first.range.clamped(to: range)
      asked = first.range.upperBound
      if !first.range.isEmpty { pieces.append(first) }
    }
    var (look, beyond): (SFTPAnswer?, SFTPAnswer?) = (nil, nil)
    while position < range.upperBound {
      try Task.checkCancellation()
      while asked < range.upperBound, asked - position < handle.connection.share || pieces.isEmpty {
        let piece = try await ask(asked, upTo: range.upperBound)
        pieces.append(piece)
        asked = piece.range.upperBound
        // Under a rate limit what has come is used before more is waited for.
        if piece.range.count < handle.connection.readLength { break }
      }
      if let size, look == nil, asked == range.upperBound {
        look = try handle.connection.post(.handleStat(handle.id), within: files.stall)
        if beyond == nil, asked == size, size < .max { beyond = try post(size..<size + 1) }
      }
      guard let piece = pieces.first else { break }
      pieces.removeFirst()
      guard let bytes = try await bytes(of: piece) else { break }
      await room()
      try bytes.withUnsafeBytes { try use($0) }
      position += Int64(bytes.count)
      if bytes.count < piece.range.count {
        // Behind what was looked at along with the last read.
        look = nil
        let rest = position..<piece.range.upperBound
        pieces.insert(Piece(range: rest, answer: try post(rest)), at: 0)
      }
    }
    return Outcome(end: position, look: look, beyond: beyond)
  }

  private func post(_ range: Range<Int64>) throws -> SFTPAnswer {
    try handle.connection.post(
      .read(handle.id, at: range.lowerBound, count: range.count), within: files.stall)
  }
}
