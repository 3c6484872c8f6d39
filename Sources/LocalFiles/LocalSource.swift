package import Endpoints
package import JobModel

/// A local file as a source of bytes: size, modification time and inode are its version.
package struct LocalSource: RemoteSource {
  package let place: String
  private let pool: BlockingPool
  /// Bytes that are in memory at once.
  private static var piece: Int { 256 << 10 }

  /// - Parameter path: absolute; links are followed.
  package init(_ path: String, pool: BlockingPool) {
    place = path
    self.pool = pool
  }

  package var origin: String { "file://" }
  package var name: String { PathParts(place).name }
  package var promisedDigests: Set<DigestAlgorithm> { [] }
  package func remoteID(of object: RemoteObject) -> String? { nil }
  package func pinned(_ object: RemoteObject) -> RemoteObject? { nil }

  package nonisolated(nonsending) func describe(_ known: RemoteObject) async throws -> RemoteObject? {
    try await probe()
  }

  package nonisolated(nonsending) func probe() async throws -> RemoteObject { try await open().object }

  package nonisolated(nonsending) func read(
    _ range: Range<Int64>?, of object: RemoteObject, wantsDigest: Bool, into receiver: any ByteReceiver
  ) async throws {
    let (file, seen) = try await open()
    let size = seen.size ?? 0
    guard object.isSameVersion(as: seen) else { return try receiver.open(Opening(.changed, seen: seen)) }
    let wanted = (range ?? 0..<size).clamped(to: 0..<size)
    guard range?.lowerBound ?? 0 < size else {
      guard size == 0 else {
        throw Failure(.rangeInvalid, "`\(place)` has \(size) bytes: none where more was asked for")
      }
      return try receiver.open(Opening(.nothing, seen: seen))
    }
    try receiver.open(Opening(range == nil ? .whole(length: size) : .bytes(wanted), seen: seen))
    var position = wanted.lowerBound
    while position < wanted.upperBound {
      try Task.checkCancellation()
      await receiver.room()
      let (start, count) = (position, Int(min(Int64(Self.piece), wanted.upperBound - position)))
      let bytes = try await pool.run { try file.bytes(at: start, count: count) }
      guard !bytes.isEmpty else { throw changed }
      try bytes.withUnsafeBytes { try receiver.take($0) }
      position += Int64(bytes.count)
    }
    // What was written to it meanwhile may lie on either side of what was read.
    guard try await pool.run({ Self.object(try file.facts()) }) == seen else { throw changed }
  }

  /// A local file is read rather than asked: its bytes are as near as their digest.
  package nonisolated(nonsending) func digest(
    of range: Range<Int64>, of object: RemoteObject
  ) async throws -> RangeDigest? { nil }

  private var changed: Failure {
    Failure(.sourceChanged, "`\(place)` changed while it was read", class: .objectChanged)
  }

  private nonisolated(nonsending) func open() async throws -> (file: OpenFile, object: RemoteObject) {
    let path = place
    return try await pool.run {
      let file = try OpenFile.reading(path)
      return (file, Self.object(try file.facts()))
    }
  }

  static func object(_ facts: FileFacts) -> RemoteObject {
    var object = RemoteObject()
    object.size = facts.size
    object.version = "\(facts.inode)-\(facts.mtime)"
    object.servesRanges = true
    return object
  }
}
