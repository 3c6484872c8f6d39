package import JobModel

/// How a protocol sends one file over HTTP. A value: requests out, meanings in, no I/O.
package protocol UploadProtocol: RemoteProtocol, UploadTraits {
  /// Where the file goes, for the report.
  var url: WebURL { get }
  /// Asks what the server can do before a session is opened; nil where there is nothing to ask.
  func preparation() -> Request?
  /// What the session has to remember of it; a failure where this file can't go there.
  func prepared(_ response: Response, source: UploadSource, now: Double) -> Result<[String: String], Failure>
  /// A session that is opened without asking: a temporary name of our own, made of `UploadSource.key`. Nil for all others.
  func ownSession(for source: UploadSource) -> RemoteSession?
  /// Opens a session; nil where this file goes without one, in a single request, or where it is `ownSession`.
  func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request?
  func opened(_ response: Response, source: UploadSource, now: Double) -> Result<RemoteSession, Failure>
  /// The largest chunk that the server takes, where it opens no session for larger ones.
  func chunkLimit(_ response: Response) -> Int64?
  /// Asks which sessions are open for the destination, whoever opened them; nil where a session is found again by its key,
  /// or not at all.
  func listSessions() -> Request?
  /// The sessions that it tells of.
  func listedSessions(_ response: Response, now: Double) -> Result<[OpenSession], Failure>
  /// Asks what the session holds, or the next page of that; nil where the server can't say.
  func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request?
  /// What the session holds, by that answer.
  func queried(_ response: Response, session: RemoteSession, source: UploadSource, now: Double)
    -> Result<SessionHoldings, Failure>
  /// Asks for the URLs that these chunks go to; nil where they follow from the session.
  func partURLs(for chunks: [Int], session: RemoteSession) -> Request?
  func handedOut(_ response: Response, session: RemoteSession, now: Double) -> Result<[Int: WebURL], Failure>
  /// Sends a chunk; without a session, the whole file.
  func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request
  /// What the server took of it; a failure where it did not take it.
  func accepted(_ response: Response, chunk: UploadChunk, now: Double) -> Result<ChunkReceipt, Failure>
  /// A request that was cut may have left part of the file at its destination, which the next one has to replace.
  var mayLeaveTornFile: Bool { get }
  /// Makes the folder that the file is sent into, before its first byte is; nil where there is none to make.
  func folderMaking() -> (folder: WebURL, making: any Exchange)?
  /// Makes what a refused chunk lacks at its destination, folders for instance; nil where nothing can be done. The chunk is
  /// sent again then, once.
  func remedy(for response: Response, now: Double) -> (any Exchange)?
  /// The same source without what the store refuses to keep, and nobody has asked for by name; nil where that is not why it
  /// refused.
  func reduced(_ source: UploadSource, after response: Response) -> UploadSource?
  /// Asks what has arrived in a session before it is closed; nil where nothing tells, or where it is not worth a request.
  func arrival(in session: RemoteSession, of source: UploadSource) -> Request?
  /// Why the session is not to be closed, by that answer; nil where nothing speaks against it.
  func objection(to response: Response, in session: RemoteSession, of source: UploadSource) -> Failure?
  /// Closes the session by several requests, the last answer of which goes to `finalized`; nil where `finalize` is all.
  func closing(_ session: RemoteSession, source: UploadSource) -> (any Exchange)?
  /// Closes the session; nil where the last chunk does that.
  func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request?
  func finalized(
    _ response: Response, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Result<UploadedFile, Failure>
  func abort(_ session: RemoteSession) -> Request?
  /// An ended session may still take what was on its way: its end is asked for until `query` no longer finds it.
  var mayOutliveItsEnd: Bool { get }
  /// Looks at whatever stands at the destination; nil where that can't be asked.
  func look() -> Request?
  /// Whether the server that finds no file by its name may know it by its id alone.
  func mayKnowIDsAlone(_ response: Response) -> Bool
  /// Reads a finished file back; nil where that can't be done.
  func readback(_ file: UploadedFile) -> (any DownloadProtocol)?
  /// Looks at the finished file; nil where there is nothing to look at.
  func inspect(_ file: UploadedFile) -> Request?
  func inspected(_ response: Response, now: Double) -> Result<RemoteObject, Failure>
  /// Looks at all files of the destination's folder; nil where no request tells of more than one.
  func lookAtFolder() -> Request?
  /// What such an answer says of this file, and of how many names it tells; nil where it is of no use.
  func foundInFolder(_ response: Response) -> (object: RemoteObject?, names: Int)?
  /// Checks of what was looked at that only the protocol can make: of a digest of digests, for instance.
  func checks(_ response: Response, source: UploadSource, chunks: [ChunkRecord]) -> [Verification]
}

extension UploadProtocol {
  package var mayLeaveTornFile: Bool { false }
  package var mayOutliveItsEnd: Bool { false }
  package func preparation() -> Request? { nil }
  package func mayKnowIDsAlone(_ response: Response) -> Bool { false }
  package func lookAtFolder() -> Request? { nil }
  package func foundInFolder(_ response: Response) -> (object: RemoteObject?, names: Int)? { nil }
  package func ownSession(for source: UploadSource) -> RemoteSession? { nil }
  package func folderMaking() -> (folder: WebURL, making: any Exchange)? { nil }
  package func remedy(for response: Response, now: Double) -> (any Exchange)? { nil }
  package func reduced(_ source: UploadSource, after response: Response) -> UploadSource? { nil }
  package func arrival(in session: RemoteSession, of source: UploadSource) -> Request? { nil }
  package func objection(
    to response: Response, in session: RemoteSession, of source: UploadSource
  ) -> Failure? { nil }
  package func closing(_ session: RemoteSession, source: UploadSource) -> (any Exchange)? { nil }
  package func chunkLimit(_ response: Response) -> Int64? { nil }
  package func listSessions() -> Request? { nil }
  package func listedSessions(_ response: Response, now: Double) -> Result<[OpenSession], Failure> {
    .success([])
  }
  package func prepared(
    _ response: Response, source: UploadSource, now: Double
  ) -> Result<[String: String], Failure> { .success([:]) }
  package func partURLs(for chunks: [Int], session: RemoteSession) -> Request? { nil }
  package func handedOut(_ response: Response, session: RemoteSession, now: Double) -> Result<
    [Int: WebURL], Failure
  > {
    .success([:])
  }
  package func checks(_ response: Response, source: UploadSource, chunks: [ChunkRecord]) -> [Verification] {
    []
  }
  package var listsSessions: Bool { listSessions() != nil }
  package func opensSession(for source: UploadSource) -> Bool {
    ownSession(for: source) != nil || open(source, renewing: nil) != nil
  }
  package func tellsHoldings(of session: RemoteSession) -> Bool { query(session, after: nil) != nil }
}
