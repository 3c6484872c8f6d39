import Digests
import Endpoints
import Foundation
import JobModel
import TestSupport
import Testing

@testable import LocalFiles

/// A local file as a sink: what is its own. What all sinks keep to is in Tests/EndpointTests.
struct LocalSinkTests {
  private static let chunk: Int64 = 300_000
  private let scratch: Scratch
  private let sink: LocalSink
  private let bytes = Array(SeededFile.bytes(700_000, seed: 3))

  init() throws {
    scratch = try Scratch()
    sink = LocalSink(scratch.path + "/file", pool: BlockingPool(label: "test", width: 2))
  }

  private var source: UploadSource {
    UploadSource(size: 700_000, contentType: "a/b", chunkSize: Self.chunk)
  }

  private func begin() async throws -> RemoteSession {
    guard case .opened(let session, false) = try await sink.begin(source, renewing: nil) else {
      throw TestFault("no session")
    }
    return session
  }

  private func put(_ index: Int, _ session: RemoteSession) async throws {
    let range = ChunkLayout(size: 700_000, chunkSize: Self.chunk).range(index)
    let chunk = UploadChunk(index: index, range: range)
    let body = Piece(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
    _ = try await sink.put(chunk, body, session: session, source: source) { [] }.get()
    #expect(body.largest <= 256 << 10, "it is written in bounded pieces")
  }

  private func held(_ session: RemoteSession) async throws -> [Int: HeldChunk] {
    try #require(try await sink.holdings(of: session, source: source)).get().chunks
  }

  private func part(_ session: RemoteSession) throws -> FileHandle {
    try #require(FileHandle(forUpdatingAtPath: scratch.path + "/" + session.id))
  }

  @Test func anOpenSessionIsAPartFileAndNoMore() async throws {
    let session = try await begin()
    #expect(session.id.hasPrefix(".file.") && session.id.hasSuffix(".haul-part"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [session.id])
    #expect(try await held(session).isEmpty)
    try await put(1, session)
    #expect(try await held(session).keys.sorted() == [1])
    let failure = await #expect(throws: Failure.self) {
      _ = try await sink.complete(session, source: source, chunks: [])
    }
    #expect(failure?.class == .damaged(chunk: nil))
  }

  /// A mark without its bytes, as a power cut may leave it, is found out by the digest.
  @Test func heldChunksAreToldAsTheyReadNow() async throws {
    let session = try await begin()
    try await put(0, session)
    let digest = try Digest.hex(of: Array(bytes[..<300_000]), .sha256)
    #expect(try await held(session) == [0: HeldChunk(size: 300_000, digests: [.sha256: digest])])
    let file = try part(session)
    try file.seek(toOffset: 1000)
    try file.write(contentsOf: Data(repeating: 0, count: 4096))
    #expect(try await held(session)[0]?.digests[.sha256] != digest)
  }

  /// The marks are cut off just before the file takes its name: a kill in between loses nothing.
  @Test func aPartWithoutMarksIsComplete() async throws {
    let session = try await begin()
    for index in 0..<3 { try await put(index, session) }
    try part(session).truncate(atOffset: 700_000)
    #expect(try await held(session).count == 3)
    _ = try await sink.complete(session, source: source, chunks: [])
    #expect(FileManager.default.contents(atPath: scratch.path + "/file").map { Array($0) } == bytes)
    let gone = try #require(try await sink.holdings(of: session, source: source))
    #expect(throws: Failure.self) { try gone.get() }
  }

  @Test func whatMustBeNewReplacesNothing() async throws {
    try scratch.write("file", "old")
    let session = try await begin()
    for index in 0..<3 { try await put(index, session) }
    var source = source
    source.mustBeNew = true
    let failure = await #expect(throws: Failure.self) {
      _ = try await sink.complete(session, source: source, chunks: [])
    }
    #expect(failure?.code == .destinationExists)
    #expect(FileManager.default.contents(atPath: scratch.path + "/file") == Data("old".utf8))
  }
}

/// Bytes as a body. Used by one test alone.
private final class Piece: ByteReader, @unchecked Sendable {
  private let bytes: [UInt8]
  private var position = 0
  private(set) var largest = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var length: Int64 { Int64(bytes.count) }
  var mayBeRepeated: Bool { false }
  func rewind() { position = 0 }
  func settle(sent: Int64) {}

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    largest = max(largest, buffer.count)
    let count = min(buffer.count, bytes.count - position)
    bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[position..<position + count])) }
    position += count
    return count
  }
}
