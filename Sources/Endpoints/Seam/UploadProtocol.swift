package import JobModel

/// How a protocol sends one file over HTTP. A value: requests out, meanings in, no I/O.
package protocol UploadProtocol: RemoteProtocol, UploadTraits {
  /// Where the file goes, for the report.
  var url: WebURL { get }
  /// Asks what the server can do before a session is opened; nil where there is nothing to ask.
  func survey() -> Request?
  /// What the session has to remember of it; a failure where this file can't go there.
  func surveyed(_ answer: Answer, source: UploadSource, now: Double) -> Verdict<[String: String]>
  /// Opens a session; nil where this file goes without one, in a single request.
  func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request?
  func opened(_ answer: Answer, source: UploadSource, now: Double) -> Verdict<RemoteSession>
  /// The largest chunk that the server takes, where it opens no session for larger ones.
  func chunkLimit(_ answer: Answer) -> Int64?
  /// Asks which sessions are open for the destination, whoever opened them; nil where a session is found again by its key,
  /// or not at all.
  func listSessions() -> Request?
  func listedSessions(_ answer: Answer, now: Double) -> Verdict<[OpenSession]>
  /// Asks what the session holds, or the next page of that; nil where the server can't say.
  func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request?
  func queried(_ answer: Answer, session: RemoteSession, source: UploadSource, now: Double)
    -> Verdict<SessionHoldings>
  /// Asks for the URLs that these chunks go to; nil where they follow from the session.
  func tickets(for chunks: [Int], session: RemoteSession) -> Request?
  func ticketed(_ answer: Answer, session: RemoteSession, now: Double) -> Verdict<[Int: WebURL]>
  func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request
  func accepted(_ answer: Answer, chunk: UploadChunk, now: Double) -> Verdict<ChunkReceipt>
  /// Closes the session; nil where the last chunk does that.
  func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request?
  func finalized(
    _ answer: Answer, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Verdict<UploadedFile>
  func abort(_ session: RemoteSession) -> Request?
  /// An ended session may still take what was on its way: its end is asked for until `query` no longer finds it.
  var mayOutliveItsEnd: Bool { get }
  /// Looks at whatever stands at the destination; nil where that can't be asked.
  func look() -> Request?
  /// Reads a finished file back; nil where that can't be done.
  func readback(_ file: UploadedFile) -> (any DownloadProtocol)?
  /// Looks at the finished file; nil where there is nothing to look at.
  func inspect(_ file: UploadedFile) -> Request?
  func inspected(_ answer: Answer, now: Double) -> Verdict<RemoteObject>
  /// Checks of what was looked at that only the protocol can make: of a digest of digests, for instance.
  func checks(_ answer: Answer, source: UploadSource, chunks: [ChunkRecord]) -> [Verification]
}

extension UploadProtocol {
  package var mayOutliveItsEnd: Bool { false }
  package func survey() -> Request? { nil }
  package func chunkLimit(_ answer: Answer) -> Int64? { nil }
  package func listSessions() -> Request? { nil }
  package func listedSessions(_ answer: Answer, now: Double) -> Verdict<[OpenSession]> { .value([]) }
  package func surveyed(
    _ answer: Answer, source: UploadSource, now: Double
  ) -> Verdict<[String: String]> { .value([:]) }
  package func tickets(for chunks: [Int], session: RemoteSession) -> Request? { nil }
  package func ticketed(_ answer: Answer, session: RemoteSession, now: Double) -> Verdict<[Int: WebURL]> {
    .value([:])
  }
  package func checks(_ answer: Answer, source: UploadSource, chunks: [ChunkRecord]) -> [Verification] { [] }
  package var listsSessions: Bool { listSessions() != nil }
  package func opensSession(for source: UploadSource) -> Bool { open(source, renewing: nil) != nil }
  package func tellsHoldings(of session: RemoteSession) -> Bool { query(session, after: nil) != nil }
}
