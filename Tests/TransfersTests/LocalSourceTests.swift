import Endpoints
import Foundation
import JobModel
import Testing

@testable import LocalFiles
@testable import Transfers

/// A local file as a source: what it says of itself, which bytes it gives, and when it refuses.
struct LocalSourceTests {
  private final class File: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/haul-source-" + UUID().uuidString
    let pool = BlockingPool(label: "test", width: 2)
    var source: LocalSource { LocalSource(path, pool: pool) }

    init(_ bytes: [UInt8]) throws { try write(bytes) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
  }

  private let content = pattern(700_000)

  @Test(arguments: [nil, 0..<1, 1000..<600_000, 699_999..<700_000, 699_000..<900_000] as [Range<Int64>?])
  func givesTheRange(_ range: Range<Int64>?) async throws {
    let file = try File(content)
    let object = try await file.source.probe()
    #expect(object.size == 700_000 && object.version != nil && object.servesRanges == true)
    let received = ReceivedBytes()
    received.waits = 2
    try await file.source.read(range, of: object, wantsDigest: false, into: received)
    let given = (range ?? 0..<700_000).clamped(to: 0..<700_000)
    #expect(received.bytes == Array(content[Int(given.lowerBound)..<Int(given.upperBound)]))
    #expect(received.opening?.extent == (range == nil ? .whole(length: 700_000) : .bytes(given)))
    #expect(received.largest <= 256 << 10, "it is read in bounded pieces")
  }

  @Test func anEmptyFileHasNothing() async throws {
    let file = try File([])
    for range in [nil, 0..<1000] as [Range<Int64>?] {
      let received = ReceivedBytes()
      try await file.source.read(range, of: RemoteObject(), wantsDigest: false, into: received)
      #expect(received.opening?.extent == .nothing && received.opening?.seen.size == 0)
    }
  }

  @Test func aRangeBehindTheEndIsRefused() async throws {
    let file = try File(content)
    let received = ReceivedBytes()
    let failure = await #expect(throws: Failure.self) {
      try await file.source.read(700_000..<700_001, of: RemoteObject(), wantsDigest: false, into: received)
    }
    #expect(failure?.code == .rangeInvalid && received.opening == nil)
  }

  @Test func anotherFileIsTold() async throws {
    let file = try File(content)
    let object = try await file.source.probe()
    try file.write(pattern(700_000, seed: 1))
    let received = ReceivedBytes()
    try await file.source.read(0..<10, of: object, wantsDigest: false, into: received)
    #expect(received.opening?.extent == .changed && received.bytes.isEmpty)
  }

  @Test(arguments: [0, 800_000]) func aFileThatChangesUnderTheReadIsRefused(_ size: Int) async throws {
    let file = try File(content)
    let received = ReceivedBytes()
    received.onTake = {
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file.path))
      try handle.truncate(atOffset: UInt64(size))
      try handle.close()
    }
    let failure = await #expect(throws: Failure.self) {
      try await file.source.read(nil, of: RemoteObject(), wantsDigest: false, into: received)
    }
    #expect(failure?.class == .objectChanged)
  }

  @Test func whatIsNotAFileIsRefused() async throws {
    let pool = BlockingPool(label: "test", width: 1)
    let missing = await #expect(throws: Failure.self) {
      try await LocalSource("/nowhere/a", pool: pool).probe()
    }
    #expect(missing?.code == .sourceMissing)
    let folder = await #expect(throws: Failure.self) { try await LocalSource("/tmp", pool: pool).probe() }
    #expect(folder?.code == .ioError)
  }

  @Test func whatTheReceiverThrowsEndsTheRead() async throws {
    let file = try File(content)
    let received = ReceivedBytes()
    received.onOpen = { _ in throw Failure(.diskFull, "full") }
    let failure = await #expect(throws: Failure.self) {
      try await file.source.read(nil, of: RemoteObject(), wantsDigest: false, into: received)
    }
    #expect(failure?.code == .diskFull && received.bytes.isEmpty)
  }
}
