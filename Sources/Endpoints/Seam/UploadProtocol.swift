package import JobModel

/// How a protocol sends one file. A value: requests out, meanings in, no I/O.
package protocol UploadProtocol: RemoteProtocol {
  var abilities: UploadAbilities { get }
  /// What holds for a file of `size` bytes, where that makes a difference.
  func abilities(of size: Int64?) -> UploadAbilities
  /// Where the file goes, for the report.
  var url: WebURL { get }
  /// Asks what the server can do before a session is opened; nil where there is nothing to ask.
  func survey() -> Request?
  /// What the session has to remember of it; a failure where this file can't go there.
  func surveyed(_ answer: Answer, source: UploadSource, now: Double) -> Verdict<[String: String]>
  /// Opens a session; nil where this file goes without one, in a single request.
  func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request?
  func opened(_ answer: Answer, source: UploadSource, now: Double) -> Verdict<RemoteSession>
  /// A session is created under `UploadSource.key`, and found again by it: an answer of 200 names one that was there.
  var keysSessions: Bool { get }
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
  /// Digests that go with a chunk in this session; the first is the abilities' first.
  func chunkDigests(in session: RemoteSession?) -> [DigestAlgorithm]
  /// The server checks, or gives, digests of what it takes in this session (`verify: required`).
  func provesUpload(in session: RemoteSession) -> Bool
  func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request
  func accepted(_ answer: Answer, chunk: UploadChunk, now: Double) -> Verdict<ChunkReceipt>
  /// Chunks whose receipts speak against them now that all are there: they are sent again, once, before the session is
  /// closed.
  func contradicted(_ chunks: [ChunkRecord]) -> [ChunkRecord]
  /// Closes the session; nil where the last chunk does that.
  func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request?
  func finalized(
    _ answer: Answer, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Verdict<UploadedFile>
  /// The file of a session that its last chunk has closed.
  func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile
  func abort(_ session: RemoteSession) -> Request?
  /// An ended session may still take what was on its way: its end is asked for until `query` no longer finds it.
  var mayOutliveItsEnd: Bool { get }
  /// Looks at whatever stands at the destination; nil where that can't be asked.
  func look() -> Request?
  /// What `look` finds may come with a digest, although none closes an upload's proof.
  var mayTellDigests: Bool { get }
  /// Reads a finished file back; nil where that can't be done.
  func readback(_ file: UploadedFile) -> (any DownloadProtocol)?
  /// Looks at the finished file; nil where there is nothing to look at.
  func inspect(_ file: UploadedFile) -> Request?
  func inspected(_ answer: Answer, now: Double) -> Verdict<RemoteObject>
  /// Digests that went along with the upload: a server that is asked for them later may only repeat them.
  var echoes: Set<DigestAlgorithm> { get }
  /// An ETag of 32 hex digits may be the MD5 of the bytes.
  var etagsMayBeMD5: Bool { get }
  /// Servers may not keep to a condition of the request that ends an upload: what came to the destination meanwhile is
  /// looked for just before.
  var looksBeforeItsEnd: Bool { get }
  /// What was found at the destination, as an upload that ended there.
  func file(_ object: RemoteObject) -> UploadedFile
  /// Checks of what was looked at that only the protocol can make: of a digest of digests, for instance.
  func checks(_ answer: Answer, source: UploadSource, chunks: [ChunkRecord]) -> [Verification]
  /// What was found is what this session has made, told by other marks than digests: the answer that said so was lost.
  func recognises(_ object: RemoteObject, session: RemoteSession, chunks: [ChunkRecord]) -> Bool
}

extension UploadProtocol {
  package func abilities(of size: Int64?) -> UploadAbilities { abilities }
  package var mayOutliveItsEnd: Bool { false }
  package var echoes: Set<DigestAlgorithm> { [] }
  package var etagsMayBeMD5: Bool { false }
  package var looksBeforeItsEnd: Bool { false }
  package var mayTellDigests: Bool { false }
  package func survey() -> Request? { nil }
  package var keysSessions: Bool { false }
  package func chunkLimit(_ answer: Answer) -> Int64? { nil }
  package func listSessions() -> Request? { nil }
  package func listedSessions(_ answer: Answer, now: Double) -> Verdict<[OpenSession]> { .value([]) }
  package func surveyed(
    _ answer: Answer, source: UploadSource, now: Double
  ) -> Verdict<[String: String]> { .value([:]) }
  package func chunkDigests(in session: RemoteSession?) -> [DigestAlgorithm] { abilities.chunkDigests }
  package func provesUpload(in session: RemoteSession) -> Bool { true }
  package func tickets(for chunks: [Int], session: RemoteSession) -> Request? { nil }
  package func ticketed(_ answer: Answer, session: RemoteSession, now: Double) -> Verdict<[Int: WebURL]> {
    .value([:])
  }
  package func contradicted(_ chunks: [ChunkRecord]) -> [ChunkRecord] { [] }
  package func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile {
    UploadedFile(etag: receipt?.token, digests: receipt?.digests ?? [:])
  }
  package func file(_ object: RemoteObject) -> UploadedFile {
    UploadedFile(version: object.version, etag: object.etag, digests: object.digests)
  }
  package func checks(_ answer: Answer, source: UploadSource, chunks: [ChunkRecord]) -> [Verification] { [] }
  package func recognises(_ object: RemoteObject, session: RemoteSession, chunks: [ChunkRecord]) -> Bool {
    false
  }
}
