package import JobModel

/// What is known of a kind's uploads without asking a server. A value.
package protocol UploadTraits: Sendable {
  var abilities: UploadAbilities { get }
  /// What holds for a file of `size` bytes, where that makes a difference.
  func abilities(of size: Int64?) -> UploadAbilities
  /// False where this file goes without a session, in a single request.
  func opensSession(for source: UploadSource) -> Bool
  /// A session is created under `UploadSource.key`, and found again by it.
  var keysSessions: Bool { get }
  /// The server says which sessions are open, whoever opened them.
  var listsSessions: Bool { get }
  /// The server says what the session holds.
  func tellsHoldings(of session: RemoteSession) -> Bool
  /// Digests that go with a chunk in this session; the first is the abilities' first.
  func chunkDigests(in session: RemoteSession?) -> [DigestAlgorithm]
  /// The server checks, or gives, digests of what it takes in this session (`verify: required`).
  func provesUpload(in session: RemoteSession) -> Bool
  /// The protocol demands of the server that it refuses a chunk whose digest differs from the one that went along.
  func refusesDamage(in session: RemoteSession) -> Bool
  /// A session is closed by the receipts of all its chunks, which the server compares with what it holds: where it does not say
  /// what that is, those on record suffice.
  var closesByReceipts: Bool { get }
  /// Chunks whose receipts speak against them now that all are there: they are sent again, once, before the session is
  /// closed.
  func rejectedChunks(_ chunks: [ChunkRecord]) -> [ChunkRecord]
  /// The file of a session that its last chunk has closed.
  func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile
  /// What stands at the destination may come with a digest, although none closes an upload's proof.
  var mayTellDigests: Bool { get }
  /// Digests that went along with the upload: a server that is asked for them later may only repeat them.
  var echoes: Set<DigestAlgorithm> { get }
  /// An ETag of 32 hex digits may be the MD5 of the bytes.
  var etagsMayBeMD5: Bool { get }
  /// Servers may not keep to a condition of the request that ends an upload: what came to the destination meanwhile is
  /// looked for just before.
  var looksBeforeItsEnd: Bool { get }
  /// What was found at the destination, as an upload that ended there.
  func file(_ object: RemoteObject) -> UploadedFile
  /// What was found is what this session has made, told by other marks than digests: the answer that said so was lost.
  func matches(_ object: RemoteObject, session: RemoteSession, chunks: [ChunkRecord]) -> Bool
}

extension UploadTraits {
  package func abilities(of size: Int64?) -> UploadAbilities { abilities }
  package var keysSessions: Bool { false }
  package var listsSessions: Bool { false }
  package var mayTellDigests: Bool { false }
  package var echoes: Set<DigestAlgorithm> { [] }
  package var etagsMayBeMD5: Bool { false }
  package var looksBeforeItsEnd: Bool { false }
  package func chunkDigests(in session: RemoteSession?) -> [DigestAlgorithm] { abilities.chunkDigests }
  package func provesUpload(in session: RemoteSession) -> Bool { true }
  package func refusesDamage(in session: RemoteSession) -> Bool { false }
  package var closesByReceipts: Bool { false }
  package func rejectedChunks(_ chunks: [ChunkRecord]) -> [ChunkRecord] { [] }
  package func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile {
    UploadedFile(etag: receipt?.token, digests: receipt?.digests ?? [:])
  }
  package func file(_ object: RemoteObject) -> UploadedFile {
    UploadedFile(version: object.version, etag: object.etag, digests: object.digests)
  }
  package func matches(_ object: RemoteObject, session: RemoteSession, chunks: [ChunkRecord]) -> Bool {
    false
  }
}
