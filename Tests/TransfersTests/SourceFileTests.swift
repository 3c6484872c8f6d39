import Digests
import Foundation
import JobModel
import LocalFiles
import Testing

@testable import Transfers

struct SourceFileTests {
  @Test func itIsWhatItWas() async throws {
    let bench = try UploadBench(source: pattern(1000))
    let source = try await SourceFile.open(bench.source, for: bench.record)
    try source.check()
    #expect(source.facts.size == 1000 && source.recorded == source.facts && source.original == nil)
    #expect(source.facts.fingerprint == (try source.fingerprint(prefix: "")))
    #expect(try source.fingerprint(prefix: "t") != source.fingerprint(prefix: ""))
    #expect(source.facts.isSameContent(as: try source.reopened().facts))
  }

  @Test func changes() throws {
    let bench = try UploadBench(source: pattern(1000))
    let changes: [(ErrorCode, () throws -> Void)] = [
      (.sourceChanged, { try bench.write(pattern(999)) }),
      (
        .sourceChanged,
        { try Data(pattern(1000, seed: 2)).write(to: URL(fileURLWithPath: bench.source), options: .atomic) }
      ),
      (
        .sourceChanged,
        {
          let source = try OpenFile.reading(bench.source).facts()
          let file = try FileHandle(forWritingTo: URL(fileURLWithPath: bench.source))
          try file.write(contentsOf: Data(pattern(10, seed: 3)))
          let mtime = timespec(
            tv_sec: Int(source.mtime / 1_000_000_000), tv_nsec: Int(source.mtime % 1_000_000_000))
          #expect(futimens(file.fileDescriptor, [mtime, mtime]) == 0)
        }
      ),
      (.sourceMissing, { try FileManager.default.removeItem(atPath: bench.source) }),
    ]
    for (code, change) in changes {
      let source = try SourceFile(.reading(bench.source))
      try change()
      do {
        try source.check()
        Issue.record("\(code) is not seen")
      } catch { #expect(error.code == code) }
    }
  }

  @Test func itMayBeTouched() throws {
    let bench = try UploadBench(source: pattern(1000))
    let source = try SourceFile(.reading(bench.source))
    #expect(try source.touched() == nil)
    #expect(chmod(bench.source, 0o640) == 0)
    #expect(throws: Failure.self) { try source.check() }
    let touched = try #require(try source.touched())
    try touched.check()
    #expect(touched.facts.isSameContent(as: source.facts) && touched.facts.ctime != source.facts.ctime)
    try bench.write(pattern(999))
    #expect(throws: Failure.self) { try touched.touched() }
  }

  @Test func aCopyStandsForTheSource() async throws {
    let bench = try UploadBench(source: pattern(1000), change: { $0.snapshot = .copy })
    let source = try await SourceFile.open(bench.source, for: bench.record)
    #expect(source.file.path.hasPrefix(bench.path + "/snapshots/"))
    #expect(source.original?.size == 1000 && source.recorded == source.original)
    try bench.write(pattern(7))
    try source.check()
    #expect(try source.reopened().original == source.original)
    // The copy of an unfinished upload is gone on with.
    bench.record.note(.session(.init(id: "s", chunkSize: 1)))
    let again = try await SourceFile.open(bench.source, for: bench.record)
    #expect(again.facts.size == 1000 && again.original == nil)
    await SourceFile.dropCopy(of: bench.record)
    #expect(!FileManager.default.fileExists(atPath: source.file.path))
  }

  /// A session that was opened of a copy goes on with it, and the copy goes with its end, where none is asked for any more.
  @Test func aCopyOutlivesItsRule() async throws {
    let bench = try UploadBench(source: pattern(1000))
    let folder = bench.path + "/snapshots"
    let copy = folder + "/" + bench.context.run.tag("t")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(pattern(7)).write(to: URL(fileURLWithPath: copy))
    #expect(try await SourceFile.open(bench.source, for: bench.record).file.path == bench.source)
    bench.record.note(.session(.init(id: "s", chunkSize: 1)))
    #expect(try await SourceFile.open(bench.source, for: bench.record).facts.size == 7)
    await SourceFile.dropCopy(of: bench.record)
    #expect(!FileManager.default.fileExists(atPath: copy))
  }

  /// A copy would be another file than the one that the session was opened of.
  @Test func whatBeganWithoutACopyGoesOnWithoutOne() async throws {
    let bench = try UploadBench(source: pattern(1000), change: { $0.snapshot = .copy })
    bench.record.note(.source(try SourceFile(.reading(bench.source)).facts))
    bench.record.note(.session(.init(id: "s", chunkSize: 1)))
    #expect(try await SourceFile.open(bench.source, for: bench.record).file.path == bench.source)
    try bench.write(pattern(999))
    #expect(try await SourceFile.open(bench.source, for: bench.record).file.path != bench.source)
  }

  @Test func whatMayNotBeSentIsNotCopied() async throws {
    let bench = try UploadBench(source: pattern(1000), change: { $0.snapshot = .copy })
    bench.record.note(.source(try OpenFile.reading(bench.source).facts()))
    bench.record.note(.completed(at: 1))
    #expect(try await SourceFile.open(bench.source, for: bench.record).file.path == bench.source)
    try bench.write(pattern(999))
    #expect(try await SourceFile.open(bench.source, for: bench.record).file.path != bench.source)
  }

  @Test(arguments: [0, 1, 16 << 10, (16 << 10) + 1, 3 << 20]) func digests(_ size: Int) async throws {
    let bytes = pattern(size)
    let bench = try UploadBench(source: bytes)
    let digests = SourceDigests(
      of: try OpenFile.reading(bench.source), size: Int64(size), wanted: [.sha256],
      pool: bench.context.local.pool)
    try digests.begin()
    let sha256 = try Digest.hex(of: bytes, .sha256)
    let md5 = try Digest.hex(of: bytes, .md5)
    #expect(try await digests.whole() == [.sha256: sha256])
    #expect(try await digests.whole(also: [.md5, .sha256]) == [.sha256: sha256, .md5: md5])
    #expect(try await digests.whole() == [.sha256: sha256])
    let half = Int64(size / 2)
    #expect(
      try await digests.of(half..<Int64(size), [.md5]) == [
        .md5: Digest.hex(of: Array(bytes[Int(half)...]), .md5)
      ])
    #expect(try await digests.of(half..<Int64(size), [DigestAlgorithm]()).isEmpty)
  }

  @Test func aCancelledDigestFailsOrIsTheFile() async throws {
    let bench = try UploadBench(source: pattern(3 << 20))
    let digests = SourceDigests(
      of: try OpenFile.reading(bench.source), size: 3 << 20, wanted: [.sha256], pool: bench.context.local.pool
    )
    try digests.begin()
    digests.cancel()
    // It may have been done before.
    do {
      let expected = try ChunkDigests.of(0..<(3 << 20), of: OpenFile.reading(bench.source), [.sha256])
      #expect(try await digests.whole() == expected)
    } catch { #expect(error is CancellationError, "\(error)") }
  }

  @Test func aFileThatEndsEarly() async throws {
    for size in [100, 100_000] as [Int64] {
      let bench = try UploadBench(source: [1])
      let digests = SourceDigests(
        of: try OpenFile.reading(bench.source), size: size, wanted: [.sha256], pool: bench.context.local.pool)
      await #expect(throws: Failure.self) { _ = try await digests.whole() }
    }
  }
}
