import Endpoints
import JobModel
import Testing

@testable import Transfers

/// How bytes come in: where they go, what is recorded of them, and what is left of them at the end.
struct IntakeTests {
  /// Opens an answer that brings all of the file.
  private func open(_ bench: DownloadBench, _ extent: Opening.Extent? = nil) throws -> FileBody? {
    let size = Int64(bench.source.bytes.count)
    return try bench.intake.open(
      Opening(extent ?? .bytes(0..<size), seen: bench.source.object), wanted: 0..<size, RangeDigestCheck())
  }

  /// A small file in one piece is held in memory; not what is larger than a chunk.
  @Test(arguments: [(8, 10, true), (10, 10, true), (11, 10, false)])
  func whereBytesGo(_ size: Int, _ chunk: Int64, _ isHeld: Bool) throws {
    let bench = try DownloadBench(pattern(size), chunkSize: chunk)
    _ = try bench.destination()
    let body = try #require(try open(bench))
    #expect((bench.intake.staged.held != nil) == isHeld && (bench.intake.staged.part == nil) == isHeld)
    #expect(body.start == 0 && body.end == Int64(size) && body.chunkSize == chunk)
    #expect(bench.record.progress.size == Int64(size) && bench.names.isEmpty == isHeld)
  }

  @Test func withoutADestinationNothingIsTaken() throws {
    let bench = try DownloadBench(pattern(5))
    let failure = #expect(throws: Failure.self) { _ = try open(bench) }
    #expect(failure?.code == .internal)
  }

  @Test func bytesAreCounted() throws {
    let bench = try DownloadBench(pattern(5))
    try bench.intake.moved(5)
    bench.intake.discard(2)
    let progress = bench.record.progress
    #expect(progress.transferred == 5 && progress.discarded == 2 && bench.context.board.moved == 5)
  }

  /// Also where the length is not known.
  @Test(arguments: [5, nil] as [Int64?]) func withoutRoomNothingIsTaken(_ size: Int64?) throws {
    let bench = try DownloadBench(pattern(5), chunkSize: 1, change: { $0.policy.minFree = 1 << 60 })
    bench.source.object.size = size
    _ = try bench.destination()
    let failure = #expect(throws: Failure.self) {
      _ = try open(bench, size == nil ? .whole(length: nil) : nil)
    }
    #expect(failure?.code == .diskFull)
  }

  @Test(arguments: [true, false]) func whatIsLeftBehind(_ drops: Bool) async throws {
    let bench = try DownloadBench(pattern(25), chunkSize: 10)
    _ = try bench.destination()
    _ = try #require(try open(bench))
    bench.intake.decide { $0.received(ChunkRecord(offset: 0, length: 10, digest: "d")) }
    #expect(bench.intake.here == 10 && bench.names.count == 1)
    bench.intake.leave(dropsProgress: drops, own: nil)
    #expect(bench.names.isEmpty == drops)
    #expect(try await bench.chunks() == (drops ? [] : [0..<10]))
    #expect(bench.record.progress.contiguousBytes == (drops ? 0 : 10))
  }

  /// A part file that holds nothing takes space from others.
  @Test func anEmptyPartFileIsNotKept() throws {
    let bench = try DownloadBench(pattern(25), chunkSize: 10)
    _ = try bench.destination()
    _ = try open(bench)
    bench.intake.leave(dropsProgress: false, own: nil)
    #expect(bench.names.isEmpty)
  }
}
