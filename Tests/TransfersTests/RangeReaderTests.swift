import Digests
import Endpoints
import JobModel
import Testing

@testable import HTTPClient
@testable import Transfers

/// What one read leaves: chunks on record, bytes in the part file, and what is thrown away.
struct RangeReaderTests {
  private let content = pattern(35)

  /// A bench whose machine asks for bytes.
  private func bench(chunkSize: Int64 = 10, change: (inout TransferSettings) -> Void = { _ in }) throws
    -> DownloadBench
  {
    let bench = try DownloadBench(content, chunkSize: chunkSize, change: change)
    _ = try bench.destination()
    _ = bench.intake.machine.next(.settled(nil))
    _ = bench.intake.machine.next(.resumed(bench.record.progress, [], hasPart: false))
    bench.intake.carryOut()
    return bench
  }

  private func read(_ bench: DownloadBench, _ range: Range<Int64>?) async throws -> Failure? {
    do { try await RangeReader(bench.intake, range).read() } catch { return try Requester.failure(error) }
    return nil
  }

  @Test func chunksAreRecordedAsTheyPass() async throws {
    let bench = try bench()
    #expect(try await read(bench, 0..<25) == nil)
    #expect(try await bench.chunks() == [0..<10, 10..<20, 20..<25])
    #expect(try bench.intake.staged.reader()(0, 25) == Array(content.prefix(25)))
    #expect(bench.record.progress.transferred == 25 && bench.intake.here == 25)
  }

  @Test(arguments: [ErrorCode.networkUnreachable, .timeout])
  func whatABrokenReadBroughtCounts(_ code: ErrorCode) async throws {
    let bench = try bench()
    bench.source.breaks = [14]
    bench.source.fault = Failure(code, "broken")
    #expect(try await read(bench, 0..<30)?.code == code)
    #expect(try await bench.chunks() == [0..<10, 10..<14] && bench.record.progress.discarded == 0)
    #expect(bench.intake.machine.fetch.missing(in: 0..<30) == 14..<30)
  }

  /// Of a chunk that takes long, what is there is on record, and stays so whatever the rest of the answer does.
  @Test func aChunkIsRecordedWhileItComes() async throws {
    let bench = try bench(chunkSize: 30)
    bench.source.pieces = 7
    bench.source.breaks = [20]
    bench.source.fault = Failure(.protocolViolation, "nonsense")
    bench.tick = 0.1
    #expect(try await read(bench, 0..<30)?.code == .protocolViolation)
    let records = try await bench.records()
    #expect(records.map(\.range) == [0..<20] && records.first?.digest == Hex.encode(crc(content.prefix(20))))
    #expect(bench.record.progress.discarded == 0 && bench.intake.machine.fetch.missing(in: 0..<30) == 20..<30)
    #expect(try await read(bench, 20..<30) == nil)
    #expect(try await bench.chunks() == [0..<20, 20..<30])
    #expect(try bench.intake.staged.reader()(0, 30) == Array(content.prefix(30)))
  }

  /// Neither a stream nor what its own digest is to prove is recorded in parts.
  @Test(arguments: [true, false]) func whatIsNotRecordedInParts(isStream: Bool) async throws {
    let bench = try bench(chunkSize: 30)
    bench.source.pieces = 7
    bench.source.breaks = [20]
    bench.source.fault = Failure(.protocolViolation, "nonsense")
    bench.tick = 0.1
    if !isStream { bench.source.digest = RangeDigest(.sha256, FakeServer.sha256(Array(content.prefix(30)))) }
    #expect(try await read(bench, isStream ? nil : 0..<30) != nil)
    #expect(try await bench.chunks().isEmpty && bench.record.progress.discarded == 20)
  }

  private func crc(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var sum = CRC32C()
    sum.update(Array(bytes))
    return sum.bytes
  }

  /// A stream that can't be resumed records nothing of the chunk that broke off.
  @Test func aBrokenStream() async throws {
    let bench = try bench()
    bench.source.breaks = [14]
    #expect(try await read(bench, nil) != nil)
    #expect(bench.record.progress.discarded == 4 && bench.intake.here == 10)
  }

  @Test func aSmallFileStaysInMemory() async throws {
    let bench = try bench(chunkSize: 100)
    // Without a promise of its own for the range, everything in one answer is held.
    #expect(try await read(bench, nil) == nil)
    #expect(bench.intake.staged.isPassing && bench.names.isEmpty)
    #expect(try await bench.chunks().isEmpty && bench.intake.machine.fetch.map.unrecorded?.range == 0..<35)
    // At the end, what was only in memory is gone.
    bench.intake.leave(dropsProgress: false, own: nil)
    #expect(bench.intake.here == 0 && bench.record.progress.discarded == 35)
  }

  /// A range that comes with a digest is recorded when that has proved it.
  @Test func aRangeIsProvedByItsOwnDigest() async throws {
    let bench = try bench()
    bench.source.digest = RangeDigest(.sha256, FakeServer.sha256(Array(content.prefix(20))))
    #expect(try await read(bench, 0..<20) == nil)
    #expect(try await bench.chunks() == [0..<10, 10..<20])
    let failure = try await read(bench, 20..<30)
    #expect(failure?.class == .damaged(chunk: 2))
    #expect(try await bench.chunks() == [0..<10, 10..<20] && bench.record.progress.discarded == 10)
    // What broke off can't be proved by the digest of all of it: the whole file's will.
    bench.source.breaks = [7]
    #expect(try await read(bench, 20..<30) != nil)
    #expect(bench.intake.here == 27)
  }

  @Test func anAnswerThatIsRefusedLeavesNothing() async throws {
    let bench = try bench()
    #expect(try await read(bench, 0..<10) == nil)
    bench.source.object.etag = "\"2\""
    #expect(try await read(bench, 10..<20)?.class == .objectChanged)
    #expect(bench.intake.here == 10 && bench.record.progress.discarded == 0)
  }

  /// What can be used again stays for the next attempt; a part file without it goes.
  @Test(arguments: [true, false]) func whatIsLeft(dropsProgress: Bool) async throws {
    let bench = try bench()
    #expect(try await read(bench, 0..<20) == nil)
    #expect(bench.names.count == 1)
    bench.intake.leave(dropsProgress: dropsProgress, own: nil)
    #expect(try await bench.chunks().isEmpty == dropsProgress && bench.names.isEmpty == dropsProgress)
    #expect(bench.record.progress.contiguousBytes == (dropsProgress ? 0 : 20))
  }
}
