import Digests
import JobModel
import Protocols

/// Collects a small answer. Used on the transport's executor alone, hence sendable to it.
final class CollectingSink: AnswerSink, @unchecked Sendable {
  private(set) var answerHead: AnswerHead?
  private(set) var bytes: [UInt8] = []
  private let limit: Int

  /// - Parameter limit: bytes of body that are kept; what is longer ends the request.
  init(limit: Int = 16 << 20) { self.limit = limit }

  func head(_ head: AnswerHead) { answerHead = head }

  func body(_ more: UnsafeRawBufferPointer) throws {
    guard bytes.count + more.count <= limit else {
      throw Failure(.protocolViolation, "an answer is longer than \(limit) bytes")
    }
    bytes += more
  }
}

/// Where the body of an answer goes, decided at its head.
enum BodyPlace {
  /// These bytes of the file, hashed on the way where a digest is given; `end` is `Int64.max` where the length is
  /// not known.
  case file(PartFile, InlineDigest?, start: Int64, end: Int64, chunkSize: Int64)
  /// A refusal's text, kept for its message.
  case text
}

/// Writes a ranged or whole answer into the part file and records its chunks as they pass.
///
/// Used on the transport's executor alone, hence sendable to it.
final class PartSink: AnswerSink, @unchecked Sendable {
  private let decide: (AnswerHead) throws -> BodyPlace
  private let moved: (Int) throws -> Void
  private let record: (ChunkRecord) -> Void
  private var place = BodyPlace.text
  private var chunk: OpenChunk
  private(set) var answerHead: AnswerHead?
  private(set) var text: [UInt8] = []
  private(set) var position: Int64 = 0
  /// Bytes of body that went into the file.
  private(set) var written: Int64 = 0

  init(
    decide: @escaping (AnswerHead) throws -> BodyPlace, moved: @escaping (Int) throws -> Void,
    record: @escaping (ChunkRecord) -> Void
  ) {
    self.decide = decide
    self.moved = moved
    self.record = record
    chunk = OpenChunk(offset: 0)
  }

  /// Bytes that came and were not written.
  private var refused: Int64 = 0

  /// Bytes of the chunk that is not complete: lost when the request ends here.
  var pending: Int64 { position - chunk.offset + refused }

  /// The body that was promised is all there.
  var isComplete: Bool {
    switch place {
    case .file(_, _, _, let end, _): end == .max || position == end
    case .text: true
    }
  }

  func head(_ head: AnswerHead) throws {
    answerHead = head
    place = try decide(head)
    if case .file(_, _, let start, _, _) = place {
      position = start
      chunk = OpenChunk(offset: start)
    }
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws {
    guard case .file(let part, let digest, _, let end, let chunkSize) = place else {
      if text.count < 65_536 { text += bytes.prefix(65_536 - text.count) }
      return
    }
    try moved(bytes.count)
    refused = Int64(bytes.count)
    guard Int64(bytes.count) <= end - position else {
      throw Failure(
        .protocolViolation, "the body is longer than the \(end - position + written) bytes promised")
    }
    try part.file.write(bytes, at: position)
    refused = 0
    digest?.update(bytes)
    written += Int64(bytes.count)
    var rest = bytes[...]
    while !rest.isEmpty {
      let boundary = min(end, (chunk.offset / chunkSize + 1) * chunkSize)
      let take = Int(min(Int64(rest.count), boundary - position))
      chunk.sum.update(UnsafeRawBufferPointer(rebasing: rest.prefix(take)))
      position += Int64(take)
      rest = rest.dropFirst(take)
      if position == boundary { closeChunk() }
    }
  }

  /// The body has ended as promised: records the last, shorter chunk of a body of unknown length.
  func end() {
    if case .file = place, pending > 0 { closeChunk() }
  }

  private func closeChunk() {
    record(ChunkRecord(offset: chunk.offset, length: position - chunk.offset, digest: chunk.digest))
    chunk = OpenChunk(offset: position)
  }
}
