package import JobModel

/// A place that takes the bytes of one file, in chunks, within a session that outlives this process.
///
/// What it throws carries its `FailureClass`. Records, limits on memory, and what a failure leads to are its caller's.
/// Belongs to one transfer's actor.
///
/// The order of calls: `prepare`, `begin`, `put` until all is held, `complete`, `inspect`. After a kill `holdings` takes the
/// place of the first two. `abort` ends a session that nobody goes on with.
package protocol RemoteSink: AnyObject {
  var traits: any UploadTraits { get }
  /// The destination, for messages.
  var place: String { get }
  /// What is looked at to see what stands at the destination, for messages.
  var lookedAt: String { get }
  /// Names the host: limits and memories of a server go by it.
  var origin: String { get }

  /// Called before all else of an upload.
  ///
  /// - Parameters:
  ///   - recorded: the chunks on record.
  ///   - note: records what a session, by its id, has to remember anew (`RemoteSession.facts`).
  func remember(
    _ recorded: @escaping () throws -> [ChunkRecord],
    note: @escaping (_ session: String, _ facts: [String: String]) -> Void)

  /// What stands at the destination; nil where that can't be asked.
  nonisolated(nonsending) func look(_ effort: LookEffort) async throws -> FoundFile?
  /// The same, and where only ids are known, what stands there as `file`.
  nonisolated(nonsending) func look(for file: UploadedFile) async throws -> FoundFile?
  /// Looks at the file that an upload has made; nil where there is nothing to look at.
  nonisolated(nonsending) func inspect(
    _ file: UploadedFile, source: UploadSource, chunks: [ChunkRecord]
  ) async throws -> FoundFile?
  /// The tags of what stands at the destination, or why the store does not tell them; nil where it knows none, and where
  /// nothing stands there a success without any.
  nonisolated(nonsending) func tags() async throws -> Result<[String: String], Failure>?
  /// Attributes that came from the source, were refused, and were left out therefore.
  var refusedAttributes: Set<Attribute> { get }
  /// Reads a finished file whole, keeps nothing of it, and gives its SHA-256; nil where that can't be done.
  nonisolated(nonsending) func readBack(
    _ file: UploadedFile, moved: @escaping (Int) -> Void
  ) async throws -> ReadBack?

  /// What a session of this file has to remember of what the server can do.
  ///
  /// - Throws: `Failure` where this file can't go there.
  nonisolated(nonsending) func prepare(_ source: UploadSource) async throws -> [String: String]
  /// Opens a session, which holds what `old` held where the server knows how.
  nonisolated(nonsending) func begin(
    _ source: UploadSource, renewing old: RemoteSession?
  ) async throws -> SessionStart
  /// Which sessions are open for the destination, whoever opened them.
  nonisolated(nonsending) func sessions() async throws -> SessionListing
  /// What the session holds by the server's word, or why it says nothing of it; nil where it can't be asked.
  ///
  /// - Throws: what kept the server from being asked.
  nonisolated(nonsending) func holdings(
    of session: RemoteSession, source: UploadSource
  ) async throws -> Result<SessionHoldings, Failure>?
  /// Whether what the session took has its temporary name still: then nothing that stands at the destination is it.
  nonisolated(nonsending) func hasTemporaryName(_ session: RemoteSession) async throws -> Bool
  /// Sends one chunk, once.
  ///
  /// - Parameter coming: the chunks that are sent next, by index, for what is asked for in batches.
  /// - Returns: what the server says of it.
  /// - Throws: what kept the server from saying anything.
  nonisolated(nonsending) func put(
    _ chunk: UploadChunk, _ body: any ByteReader, session: RemoteSession?, source: UploadSource,
    coming: () -> [Int]
  ) async throws -> Result<ChunkReceipt, Failure>
  /// Whether the sink itself has seen to the cause of a failed `put`, so that it may be made again at once.
  func mends(_ failure: Failure, of chunk: Int) -> Bool
  /// Closes the session.
  nonisolated(nonsending) func complete(
    _ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]
  ) async throws -> UploadedFile

  /// Whom `abort` asks; nil where sessions can't be ended.
  func origin(ending session: RemoteSession) -> String?
  /// Ends a session. Waits some seconds at most.
  ///
  /// - Returns: nil once it is gone, as far as that can be known; else what the server says.
  /// - Throws: what kept the server from being asked.
  nonisolated(nonsending) func abort(_ session: RemoteSession) async throws -> Failure?
  /// The same place, for cleaning up: each request is made once, and waits some seconds at most.
  func hasty() -> any RemoteSink
}

extension RemoteSink {
  package var lookedAt: String { place }
  package func remember(
    _ recorded: @escaping () throws -> [ChunkRecord], note: @escaping (String, [String: String]) -> Void
  ) {}
  package nonisolated(nonsending) func look(for file: UploadedFile) async throws -> FoundFile? {
    try await look(.retried)
  }
  package nonisolated(nonsending) func inspect(
    _ file: UploadedFile, source: UploadSource, chunks: [ChunkRecord]
  ) async throws -> FoundFile? { try await look(.retried) }
  package nonisolated(nonsending) func readBack(
    _ file: UploadedFile, moved: @escaping (Int) -> Void
  ) async throws -> ReadBack? { nil }
  package nonisolated(nonsending) func prepare(_ source: UploadSource) async throws -> [String: String] {
    [:]
  }
  /// For kinds that do not list sessions (`UploadTraits.listsSessions`): the time of an empty list says nothing.
  package nonisolated(nonsending) func sessions() async throws -> SessionListing { .sessions([], now: 0) }
  package nonisolated(nonsending) func tags() async throws -> Result<[String: String], Failure>? { nil }
  package var refusedAttributes: Set<Attribute> { [] }
  package nonisolated(nonsending) func hasTemporaryName(_ session: RemoteSession) async throws -> Bool {
    false
  }
  package func mends(_ failure: Failure, of chunk: Int) -> Bool { false }
  package func hasty() -> any RemoteSink { self }
}

/// How much is done to learn what stands at a destination.
package enum LookEffort: Sendable {
  /// Asked once: what fails is no reason not to send the file.
  case once
  /// Transient faults are retried.
  case retried
}

/// What a look found.
package enum FoundFile: Sendable {
  case nothing
  /// - checks: those that only the protocol can make: of a digest of digests, for instance.
  case object(RemoteObject, checks: [Verification] = [])
  /// The server does not say what is there, to this credential or to anybody.
  case hidden(Failure)
  case failed(Failure)
}

/// What came of asking for a session.
package enum SessionStart: Sendable {
  /// - isReplayed: the server gave one that it had opened before, under the same key.
  case opened(RemoteSession, isReplayed: Bool)
  /// The server opens none with chunks of more than so many bytes.
  case limited(to: Int64, Failure)
}

/// The sessions that a server has open.
package enum SessionListing: Sendable {
  /// - now: seconds since 1970, by the server's clock.
  case sessions([OpenSession], now: Double)
  case untold(Failure)
}

/// A finished file as it reads back.
package struct ReadBack: Sendable, Hashable {
  /// For messages.
  package var place: String
  /// SHA-256, lower-case hex.
  package var digest: String

  package init(place: String, digest: String) {
    self.place = place
    self.digest = digest
  }
}
