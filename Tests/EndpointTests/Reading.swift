import Digests
import Endpoints
import JobModel
import TestSupport

/// Takes all that a source gives. Used by one read alone.
final class Received: ByteReceiver, @unchecked Sendable {
  private(set) var opening: Opening?
  private(set) var bytes: [UInt8] = []

  func open(_ opening: Opening) { self.opening = opening }
  func take(_ more: UnsafeRawBufferPointer) { bytes += more }
}

/// What a reader has learned of a source, and what it has read of it.
struct Reading {
  private(set) var object: RemoteObject
  private(set) var bytes: [UInt8] = []

  init(_ source: any RemoteSource) async throws {
    object = try await source.describe(RemoteObject()) ?? RemoteObject()
  }

  /// Reads everything in ranges, as the engine does: the first one tells what is there.
  mutating func readAll(_ source: any RemoteSource, chunk: Int64) async throws {
    // Of what is known to be empty nothing is asked for.
    guard object.size != 0 else { return }
    repeat {
      let start = Int64(bytes.count)
      let wanted = start..<min(start + chunk, object.size.map { max($0, start + 1) } ?? .max)
      guard try await read(wanted, of: source) else { return }
    } while Int64(bytes.count) < object.size ?? 0
  }

  /// - Returns: whether there may be more.
  /// - Throws: where the object has changed.
  @discardableResult
  mutating func read(_ range: Range<Int64>?, of source: any RemoteSource) async throws -> Bool {
    let received = Received()
    do {
      try await source.read(range, of: object, wantsDigest: false, into: received)
    } catch let failure as Failure where failure.class == .rangesUnserved && range != nil {
      return try await read(nil, of: source)
    }
    guard let opening = received.opening else { throw TestFault("a read announced nothing") }
    learn(opening.seen)
    switch opening.extent {
    case .nothing: return false
    case .changed: throw Failure(.remoteChanged, "the source told of another version", class: .objectChanged)
    case .whole:
      bytes = received.bytes
      return false
    case .bytes:
      bytes += received.bytes
      return true
    }
  }

  private mutating func learn(_ seen: RemoteObject) {
    object.size = object.size ?? seen.size
    object.etag = object.etag ?? seen.etag
    object.version = object.version ?? seen.version
    if object.lastModified == nil {
      (object.lastModified, object.lastModifiedIsStrong) = (seen.lastModified, seen.lastModifiedIsStrong)
    }
  }
}
