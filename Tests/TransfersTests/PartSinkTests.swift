import Digests
import Endpoints
import Foundation
import JobModel
import Testing

@testable import LocalFiles
@testable import Transfers

/// From bytes to chunks: what is written where, hashed, and recorded when.
struct PartSinkTests {
  /// What a sink did. Used by one test alone.
  private final class Log: @unchecked Sendable {
    var chunks: [ChunkRecord] = []
    var parts: [ChunkRecord] = []
    var moved = 0
  }

  private func sink(_ body: FileBody?, _ log: Log, blocks: BlockPool = BlockPool()) -> PartSink {
    PartSink(
      blocks: blocks, decide: { _ in body }, moved: { log.moved += $0 }, record: { log.chunks.append($0) })
  }

  private func feed(_ sink: PartSink, _ bytes: [UInt8], piece: Int) throws {
    for start in stride(from: 0, to: bytes.count, by: piece) {
      try bytes[start..<min(bytes.count, start + piece)].withUnsafeBytes { try sink.take($0) }
    }
  }

  private let opening = Opening(.whole(length: nil))

  /// Chunks are recorded with their checksum as they end, wherever the pieces end; without blocks too.
  @Test(arguments: [1, 7, 10, 25, 105], [0, 4]) func chunksEndWhereTheyShould(_ piece: Int, _ blocks: Int)
    throws
  {
    let content = pattern(105)
    let (held, log) = (InMemoryFile(size: 105), Log())
    let digest = try DigestSet([.sha256])
    let body = FileBody(target: .held(held), digest: .inline(digest), start: 0, end: 105, chunkSize: 10)
    let sink = sink(body, log, blocks: BlockPool(blocks: blocks))
    try sink.open(opening)
    try feed(sink, content, piece: piece)
    #expect(sink.reached == 105 && sink.pending == 0 && !sink.isOpen)
    try sink.end()
    #expect(held.bytes == content && log.moved == 105 && sink.written == 105)
    #expect(log.chunks.map(\.offset) == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
    #expect(log.chunks.allSatisfy { $0.length == ($0.offset == 100 ? 5 : 10) })
    for chunk in log.chunks {
      var sum = CRC32C()
      content[Int(chunk.offset)..<Int(chunk.range.upperBound)].withUnsafeBytes { sum.update($0) }
      #expect(chunk.digest == Hex.encode(sum.bytes))
    }
    #expect(digest.finish() == [.sha256: FakeServer.sha256(content)])
  }

  /// An answer without a length ends where more comes than the manifest expects.
  @Test func noMoreThanExpected() throws {
    let (content, held, log) = (pattern(25), InMemoryFile(size: 25), Log())
    let sink = sink(
      FileBody(target: .held(held), digest: .none, start: 0, end: .max, chunkSize: 100, expected: 20), log)
    try sink.open(opening)
    try content[..<20].withUnsafeBytes { try sink.take($0) }
    let failure = #expect(throws: Failure.self) { try content[20...].withUnsafeBytes { try sink.take($0) } }
    #expect(failure?.code == .lengthMismatch)
  }

  /// What is there of a chunk is recorded when it is time, with the checksum so far; what is recorded is not pending.
  @Test func partsAreRecordedWhenItIsTime() throws {
    let (content, held, log) = (pattern(25), InMemoryFile(size: 25), Log())
    var now = 0.0
    let sink = PartSink(
      blocks: BlockPool(),
      decide: { _ in
        FileBody(
          target: .held(held), digest: .none, start: 0, end: 25, chunkSize: 20,
          pace: RecordPace(began: 0, last: 0))
      }, moved: { log.moved += $0 }, record: { log.chunks.append($0) }, recordPart: { log.parts.append($0) },
      now: { now })
    try sink.open(opening)
    // Moments of a 32nd of a second.
    for (moment, bytes) in [(0.01, 3), (0.04, 4), (0.05, 5), (0.07, 2), (0.075, 6), (0.08, 1)] {
      now = moment
      let start = Int(sink.reached)
      try content[start..<(start + bytes)].withUnsafeBytes { try sink.take($0) }
    }
    #expect(log.parts.map(\.range) == [0..<7, 0..<14] && log.chunks.map(\.range) == [0..<20])
    for part in log.parts + log.chunks {
      var sum = CRC32C()
      sum.update(Array(content.prefix(Int(part.length))))
      #expect(part.digest == Hex.encode(sum.bytes))
    }
    #expect(sink.pending == 1, "the next chunk has begun")
    try sink.end()
    #expect(log.chunks.map(\.range) == [0..<20, 20..<21] && held.bytes == Array(content.prefix(21)))
  }

  /// What came of a chunk that broke off is a record of its own, or lost.
  @Test func whatIsPendingIsKept() throws {
    let (held, log) = (InMemoryFile(size: 100), Log())
    let sink = sink(
      FileBody(target: .held(held), digest: .none, start: 0, end: 100, chunkSize: 10), log)
    try sink.open(opening)
    try feed(sink, pattern(25), piece: 25)
    #expect(sink.pending == 5 && log.chunks.map(\.range) == [0..<10, 10..<20])
    try sink.end()
    #expect(log.chunks.last?.range == 20..<25 && sink.pending == 0)
  }

  @Test func aRangeIsWrittenAtItsPlace() throws {
    let path = FileManager.default.temporaryDirectory.path + "/haul-sink-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let part = try PartFile.making(in: try Folder.open(path), for: "f", tag: "0123456789abcdef")
    defer { part.discard() }
    let log = Log()
    let sink = sink(FileBody(target: .part(part), digest: .none, start: 20, end: 45, chunkSize: 20), log)
    try sink.open(Opening(.bytes(20..<45)))
    try feed(sink, pattern(25), piece: 9)
    try sink.end()
    #expect(try part.file.bytes(at: 20, count: 30) == pattern(25))
    #expect(log.chunks.map(\.range) == [20..<40, 40..<45])
  }

  @Test func aBodyThatIsTooLongIsRefused() throws {
    let (held, log) = (InMemoryFile(size: 10), Log())
    let sink = sink(FileBody(target: .held(held), digest: .none, start: 0, end: 10, chunkSize: 10), log)
    try sink.open(opening)
    let failure = #expect(throws: Failure.self) { try feed(sink, pattern(11), piece: 11) }
    #expect(failure?.code == .protocolViolation && log.chunks.isEmpty && held.bytes.isEmpty)
    #expect(sink.pending == 11, "they came, and are of no use")
  }

  @Test func withoutAFileNothingIsTaken() throws {
    let log = Log()
    let sink = sink(nil, log)
    try sink.open(Opening(.nothing))
    try feed(sink, pattern(10), piece: 10)
    try sink.end()
    #expect(log.moved == 0 && log.chunks.isEmpty && sink.pending == 0)
  }

  @Test func chunksWaitForTheirDigest() {
    let proof = RangeDigestCheck()
    let chunk = ChunkRecord(offset: 0, length: 10, digest: "00000000")
    #expect(!proof.keeps(chunk), "nothing was promised")
    proof.promise = RangeDigest(.sha256, "00")
    #expect(proof.keeps(chunk) && proof.keeps(chunk))
    #expect(proof.takeAll() == [chunk, chunk] && proof.takeAll().isEmpty)
  }
}
