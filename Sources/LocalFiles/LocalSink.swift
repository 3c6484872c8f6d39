package import Endpoints
package import JobModel

/// A local file as a sink: a session is a part file beside it.
package final class LocalSink: RemoteSink, Sendable {
  package let place: String
  private let path: PathParts
  private let pool: BlockingPool

  /// - Parameter path: absolute; its folder is there.
  package init(_ path: String, pool: BlockingPool) {
    (place, self.path, self.pool) = (path, PathParts(path), pool)
  }

  package var traits: any UploadTraits { LocalUploadTraits() }
  package var origin: String { "file://" }
  package func origin(ending session: RemoteSession) -> String? { origin }

  package nonisolated(nonsending) func look(_ effort: LookEffort) async throws -> FoundFile? {
    let name = path.name
    return try await inFolder { try $0.facts(name).map { .object(LocalSource.object($0)) } ?? .nothing }
  }

  package nonisolated(nonsending) func begin(
    _ source: UploadSource, renewing old: RemoteSession?
  ) async throws -> SessionStart {
    let session = RemoteSession(
      id: PartName.of(path.name, tag: PartName.random()), chunkSize: source.chunkSize)
    return try await inFolder { folder in
      _ = try LocalPart(session, source, in: folder, isNew: true)
      return .opened(session, isReplayed: false)
    }
  }

  package nonisolated(nonsending) func holdings(
    of session: RemoteSession, source: UploadSource
  ) async throws -> Result<SessionHoldings, Failure>? {
    try await inFolder { folder in
      do {
        return .success(SessionHoldings(chunks: try LocalPart(session, source, in: folder).chunks()))
      } catch let failure as Failure { return .failure(failure) }
    }
  }

  package nonisolated(nonsending) func put(
    _ chunk: UploadChunk, _ body: any ByteReader, session: RemoteSession?, source: UploadSource,
    coming: () -> [Int]
  ) async throws -> Result<ChunkReceipt, Failure> {
    guard let session else { throw Failure(.internal, "a local file is written in a session") }
    let part = try await inFolder { folder in
      let part = try LocalPart(session, source, in: folder)
      try part.mark(chunk.index, isHeld: false)
      return part
    }
    // Bounds the memory.
    var buffer = [UInt8](repeating: 0, count: min(256 << 10, chunk.range.count))
    var position = chunk.range.lowerBound
    while position < chunk.range.upperBound {
      try Task.checkCancellation()
      await body.bytes()
      let count = try buffer.withUnsafeMutableBytes { try body.read(into: $0) }
      guard count > 0 else { throw Failure(.internal, "the body of chunk \(chunk.index) ends early") }
      let (bytes, start) = (Array(buffer[..<count]), position)
      try await pool.run { try part.write(bytes, at: start) }
      position += Int64(count)
    }
    body.settle(sent: body.length)
    return try await pool.run { [place] in
      let found = try part.digest(chunk.range)
      guard let wanted = chunk.digests[.sha256], wanted != found else {
        try part.mark(chunk.index, isHeld: true)
        return .success(ChunkReceipt(digests: [.sha256: found]))
      }
      return .failure(
        Failure(
          .integrityMismatch, "`\(place)` took chunk \(chunk.index) with another digest", chunk: chunk.index,
          expected: wanted, actual: found))
    }
  }

  package nonisolated(nonsending) func complete(
    _ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]
  ) async throws -> UploadedFile {
    try await inFolder { [path] folder in
      let facts = try LocalPart(session, source, in: folder).finish()
      try folder.rename(session.id, to: path.name, keepingOld: source.mustBeNew)
      try folder.sync()
      return UploadedFile(version: LocalSource.object(facts).version)
    }
  }

  package nonisolated(nonsending) func abort(_ session: RemoteSession) async throws -> Failure? {
    try await inFolder { $0.remove(session.id) }
    return nil
  }

  private nonisolated(nonsending) func inFolder<Value: Sendable>(
    _ work: @escaping @Sendable (Folder) throws -> Value
  ) async throws -> Value {
    try await pool.run { [path] in try work(Folder.open(path.parent)) }
  }
}

/// What a local file can do as a sink.
private struct LocalUploadTraits: UploadTraits {
  let abilities = UploadAbilities(
    resumes: true, order: .any, chunkDigests: [.sha256], emptyFile: .noChunks)
  func opensSession(for source: UploadSource) -> Bool { true }
  func tellsHoldings(of session: RemoteSession) -> Bool { true }
}
