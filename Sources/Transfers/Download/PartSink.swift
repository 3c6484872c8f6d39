import CPosix
import Digests
import Endpoints
import Glibc
import JobModel
import LocalFiles

/// Bytes of the file in one read: from `start`, up to `end`, which is `Int64.max` where the length is not known.
struct FileBody {
  var target: BodyTarget
  var digest: BodyDigest
  var start: Int64
  var end: Int64
  var chunkSize: Int64
  /// Bytes that the manifest expects: no more of an answer without a length is taken.
  var expected: Int64?
  /// When a part of a chunk is recorded; nil where only whole chunks are.
  var pace: RecordPace?
}

/// What takes the bytes.
enum BodyTarget {
  case part(PartFile)
  case held(InMemoryFile)
}

/// What hashes the file while it comes.
enum BodyDigest {
  case inline(DigestSet)
  case trailing(IncrementalDigest)
  case none
}

/// Writes what a source gives into the part file and records its chunks as they pass, and of a chunk that takes long what is
/// there of it.
///
/// Used on the transport's executor alone, hence sendable to it.
final class PartSink: ByteReceiver, @unchecked Sendable {
  private let decide: (Opening) throws -> FileBody?
  private let moved: (Int) throws -> Void
  private let record: (ChunkRecord) -> Void
  /// Told of what is there of a chunk that is not whole.
  private let recordPart: (ChunkRecord) -> Void
  /// Seconds since 1970.
  private let now: () -> Double
  private let blocks: BlockPool
  /// Where the bytes go; nil where none come.
  private var body: FileBody?
  /// What came and is not written yet.
  private var block: Block?
  private var chunk: OpenChunk
  /// Up to here the file is written.
  private(set) var position: Int64 = 0
  /// Bytes of body that went into the file.
  private(set) var written: Int64 = 0
  /// Up to here the trailing digest has been given blocks.
  private var hashed: Int64 = 0
  private var begun: Busy?
  private static let leastForShare: Int64 = 4 << 20
  /// Bytes of one chunk that are recorded, however fast they came.
  private static let mostUnrecorded: Int64 = 4 << 20

  init(
    blocks: BlockPool, decide: @escaping (Opening) throws -> FileBody?,
    moved: @escaping (Int) throws -> Void, record: @escaping (ChunkRecord) -> Void,
    recordPart: @escaping (ChunkRecord) -> Void = { _ in }, now: @escaping () -> Double = { 0 }
  ) {
    self.blocks = blocks
    self.decide = decide
    self.moved = moved
    self.record = record
    self.recordPart = recordPart
    self.now = now
    chunk = OpenChunk(offset: 0)
  }

  deinit { if let block { blocks.giveBack(block) } }

  /// Bytes that came and were not taken.
  private var refused: Int64 = 0
  private var buffered: Int64 { Int64(block?.count ?? 0) }
  /// Up to here the body has come.
  var reached: Int64 { position + buffered }

  /// Bytes that are not on record: lost when the request ends here.
  var pending: Int64 { reached - chunk.frontier + refused }

  /// A digest has seen bytes that no record stands for.
  var hasHashedPending: Bool { hashed > chunk.frontier }

  /// The length was not known beforehand: it is what came.
  var isOpen: Bool { body?.end == .max }

  /// The share of the time since the head that this thread computed in; nil where too little came to tell.
  var busyShare: Double? {
    guard let begun, written >= Self.leastForShare else { return nil }
    return begun.share()
  }

  func open(_ opening: Opening) throws {
    body = try decide(opening)
    guard let body else { return }
    position = body.start
    hashed = body.start
    chunk = OpenChunk(offset: body.start)
    if body.end - body.start >= Self.leastForShare { begun = Busy() }
  }

  func take(_ bytes: UnsafeRawBufferPointer) throws {
    guard let body else { return }
    try moved(bytes.count)
    refused = Int64(bytes.count)
    let left = body.end - reached
    guard refused <= left else {
      throw Failure(
        .protocolViolation, "the body is longer than the \(left + buffered + written) bytes promised")
    }
    if let expected = body.expected, reached + refused > expected {
      throw Failure(
        .lengthMismatch, "the body is longer than the \(expected) bytes that are expected",
        expected: String(expected))
    }
    var rest = bytes[...]
    while !rest.isEmpty {
      // A chunk is recorded as soon as it is whole, so no block reaches over its end.
      let room = boundary(of: body) - reached
      let piece = rest.prefix(Int(min(room, Int64(rest.count))))
      try take(UnsafeRawBufferPointer(rebasing: piece), of: body, isLast: Int64(piece.count) == room)
      rest = rest.dropFirst(piece.count)
    }
    try recordPartIfDue()
  }

  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool {
    guard case .trailing(let digest) = body?.digest else { return false }
    return digest.mustWait(at: position, resume)
  }

  /// The rest goes into the part file, which has all that was held.
  func goOn(into part: PartFile) {
    body?.target = .part(part)
  }

  /// The body has ended: writes what is left of it, and records the last, shorter chunk.
  func end() throws {
    guard let body else { return }
    try flush(body)
    if pending > refused { closeChunk() }
  }

  /// Records what is there of the chunk where it is time.
  private func recordPartIfDue() throws {
    guard body?.pace != nil, reached > chunk.frontier else { return }
    let isDue = body?.pace?.isDue(at: now()) == true
    guard isDue || reached - chunk.frontier >= Self.mostUnrecorded, let body else { return }
    try flush(body)
    recordPart(chunk.advance())
  }

  private func boundary(of body: FileBody) -> Int64 {
    min(body.end, (chunk.offset / body.chunkSize + 1) * body.chunkSize)
  }

  /// Bytes that lie in one chunk: gathered, or written at once where gathering would gain nothing.
  private func take(_ bytes: UnsafeRawBufferPointer, of body: FileBody, isLast: Bool) throws {
    var rest = bytes
    while !rest.isEmpty {
      if block == nil, !(isLast && chunk.offset == position) { block = blocks.take() }
      guard let block else {
        try write(rest, of: body)
        refused -= Int64(rest.count)
        break
      }
      let piece = rest.prefix(block.room)
      block.append(UnsafeRawBufferPointer(rebasing: piece))
      refused -= Int64(piece.count)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
      if block.room == 0 { try flush(body) }
    }
    guard isLast else { return }
    try flush(body)
    closeChunk()
  }

  private func flush(_ body: FileBody) throws {
    guard let block, block.count > 0 else { return }
    let start = position
    try write(block.bytes, of: body)
    if case .trailing(let digest) = body.digest, digest.take(block, at: start) {
      hashed = position
      self.block = nil
    } else {
      block.clear()
    }
  }

  private func write(_ bytes: UnsafeRawBufferPointer, of body: FileBody) throws {
    switch body.target {
    case .part(let part): try part.file.write(bytes, at: position)
    // It is one piece from byte 0 on.
    case .held(let held): held.append(bytes)
    }
    if case .inline(let digest) = body.digest { digest.update(bytes) }
    chunk.wrote(bytes)
    position += Int64(bytes.count)
    written += Int64(bytes.count)
  }

  private func closeChunk() {
    record(chunk.advance())
    chunk = OpenChunk(offset: position)
  }
}

/// A moment of a thread: how long it has been, and how much of that the thread computed.
private struct Busy {
  private let wall = Self.seconds(CLOCK_MONOTONIC)
  private let thread = Self.seconds(CLOCK_THREAD_CPUTIME_ID)

  /// Of the time since then; on the same thread.
  func share() -> Double {
    (Self.seconds(CLOCK_THREAD_CPUTIME_ID) - thread) / max(1e-6, Self.seconds(CLOCK_MONOTONIC) - wall)
  }

  private static func seconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
