import CPosix
import Digests
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// The source of an upload while it is sent: the file, its digests, what requests and the manifest say of it.
///
/// Belongs to one transfer's actor.
final class SendingSource {
  private let scope: UploadScope
  private(set) var file: any SendingFile
  private(set) var digests: any SendingDigests
  /// The local file; nil where the source is remote.
  private(set) var local: SourceFile?
  /// The remote source; nil where it is a local file.
  let copy: CopySource?
  /// What requests say of it.
  var request: UploadSource
  /// Digests on record of an earlier completion, where the file has not changed since.
  var recorded: [DigestAlgorithm: String] = [:]

  convenience init(_ file: SourceFile, _ path: String, _ scope: UploadScope) throws {
    let type = scope.settings.contentType ?? ContentTypes.of(path)
    try self.init(file, Self.digests(of: file, scope), type, local: file, scope)
  }

  convenience init(_ copy: CopySource, _ path: String, _ scope: UploadScope) throws {
    try self.init(copy, copy, Self.contentType(of: copy.object, path, scope), copy: copy, scope)
  }

  /// The content type that a copy's object is sent with.
  private static func contentType(of object: RemoteObject, _ path: String, _ scope: UploadScope) -> String {
    let told = scope.settings.preserve.asks(for: .contentType) ? object.contentType : nil
    return scope.settings.contentType ?? told ?? ContentTypes.of(path)
  }

  private init(
    _ file: any SendingFile, _ digests: any SendingDigests, _ contentType: String, local: SourceFile? = nil,
    copy: CopySource? = nil, _ scope: UploadScope
  ) throws {
    (self.file, self.digests, self.local, self.copy, self.scope) = (file, digests, local, copy, scope)
    let (progress, settings, size) = (scope.record.progress, scope.settings, file.facts.size)
    let choice = ChunkSizeChoice(
      size: size, settings: settings, abilities: scope.traits.abilities(of: size),
      limits: scope.context.limits, afterDamage: progress.chunkSize,
      begun: progress.session?.chunkSize ?? (scope.record.hasChunks ? progress.automaticChunk : nil),
      rate: scope.context.rate(for: scope.record.transfer),
      limit: scope.context.uploads.chunkLimits[scope.sink.origin],
      mostHeld: copy?.mostHeld(settings.chunkSize), isRelayed: copy != nil)
    let chunkSize: Int64
    if scope.copiedBy == .service {
      chunkSize = try progress.session?.chunkSize ?? Self.serviceChunk(of: size, scope)
    } else {
      chunkSize = try choice.bytes(scope.record.transfer.destination) { scope.record.warn($0, hint: $1) }
    }
    request = UploadSource(
      size: size, contentType: contentType, chunkSize: chunkSize,
      mustBeNew: settings.ifExists != .replace)
    request.given = settings.given
    try checkSize()
    try describe()
  }

  /// The content type that is sent is the source's own: of a copy the object's, of a file what its name or the manifest says.
  var sendsSourceType: Bool {
    guard let copy else { return true }
    return scope.settings.contentType == nil && copy.object.contentType != nil
  }

  /// Time and mode of the local file; of one that a snapshot stands for, the file's own.
  func localAttributes() throws -> ObjectAttributes {
    var attributes = ObjectAttributes()
    guard let local, let path = scope.record.transfer.source.localPath else { return attributes }
    let full = scope.context.local.fullPath(path)
    let original = local.file.path == full ? nil : try? OpenFile.reading(full)
    let status = try (original ?? local.file).status()
    attributes.mtime = FileFacts(status).mtime
    attributes.mode = UInt16(truncatingIfNeeded: status.st_mode & 0o7777)
    return attributes
  }

  /// What stands at the destination is the job's own, which `if_exists` says nothing of.
  func replacesOwn() { request.mustBeNew = false }

  /// Notes what is about to be put at the destination, so that a kill behind it leaves no stranger's object there.
  func intend(_ digests: [DigestAlgorithm: String]) {
    guard scope.settings.ifExists != .replace, let sha256 = digests[.sha256],
      let object = WrittenObject(size: request.size, etag: nil, version: nil, digests: [.sha256: sha256])
    else { return }
    scope.record.note(.intends(object))
  }

  /// Whatever its proof says: what stands there now is the job's own.
  func wrote(_ file: UploadedFile) {
    guard scope.settings.ifExists != .replace else { return }
    replacesOwn()
    let object = WrittenObject(
      size: request.size, etag: file.etag, version: file.version, digests: file.digests)
    if let object { scope.record.note(.wrote(object)) }
  }

  var abilities: UploadAbilities { scope.traits.abilities(of: request.size) }
  /// The digests that need no reading.
  var known: [DigestAlgorithm: String] { recorded.merging(scope.expect.digests) { $1 } }
  func layout(_ session: RemoteSession) -> ChunkLayout {
    ChunkLayout(size: request.size, chunkSize: session.chunkSize)
  }

  /// The digest that is recorded with a chunk: what goes before its body, else SHA-256 where a later attempt has
  /// nothing else to compare the source with.
  var chunkDigest: DigestAlgorithm? {
    // Bytes that the service copies are not here to be hashed.
    guard copy?.isByService != true else { return nil }
    if let digest = copy?.chunkDigest ?? abilities.chunkDigests.first { return digest }
    let isKept = abilities.resumes || scope.traits.opensSession(for: request)
    return isKept && !abilities.provesWholeFile ? .sha256 : nil
  }
  /// All that are computed of a chunk.
  var chunkDigests: [DigestAlgorithm] {
    abilities.chunkDigests.isEmpty ? chunkDigest.map { [$0] } ?? [] : abilities.chunkDigests
  }

  /// Takes what is under the file's name now for the source.
  nonisolated(nonsending) func reopen() async throws {
    recorded = [:]
    if let file = try local?.reopened() {
      (local, self.file, digests) = (file, file, Self.digests(of: file, scope))
    }
    if let copy {
      try await copy.reopen()
      request.contentType = Self.contentType(of: copy.object, scope.record.transfer.source.text, scope)
    }
    try describe()
    if let copy, copy.isStreamed, let most = copy.mostHeld(scope.settings.chunkSize) {
      request.chunkSize = min(request.chunkSize, abilities.chunkSize(wanted: most, of: request.size))
    }
    // Its parts are made for its size; what damage has made smaller stays so.
    if scope.copiedBy == .service, scope.record.progress.chunkSize == nil {
      request.chunkSize = try Self.serviceChunk(of: request.size, scope)
    }
  }

  /// Bytes of a part that the service copies.
  private static func serviceChunk(of size: Int64, _ scope: UploadScope) throws(Failure) -> Int64 {
    let abilities = scope.traits.abilities
    let chunk = ServiceParts.bytes(of: size, scope.settings.chunkSize, abilities)
    try ChunkSizeChoice.check(
      size: size, chunk: chunk, most: abilities.maximumChunks, scope.record.transfer.destination)
    return chunk
  }

  /// Chunks a quarter as large after damage.
  func shrinkChunks() {
    divideChunks(by: 4)
    scope.record.note(.chunked(request.chunkSize))
  }

  /// Chunks half as large: a session does not live as long as one of them takes.
  func halveChunks() { divideChunks(by: 2) }

  /// Smaller chunks, as far as the protocol takes them.
  private func divideChunks(by divisor: Int64) {
    let smaller = abilities.chunkSize(wanted: max(65_536, request.chunkSize / divisor), of: request.size)
    request.chunkSize = min(request.chunkSize, smaller)
  }

  /// No larger chunks from now on: a server takes none.
  func limitChunks(to limit: Int64) {
    request.chunkSize = min(request.chunkSize, limit)
    scope.context.uploads.chunkLimits.note(scope.sink.origin, limit, size: request.size)
  }

  private func describe() throws {
    request.size = file.facts.size
    request.fingerprint = file.facts.fingerprint
    request.copies = scope.copiedBy == .service ? copy?.object : nil
    request.contentName =
      scope.traits.abilities.namesContent
      ? try local?.fingerprint(prefix: scope.record.id) ?? copy?.contentName(scope.record.id) : nil
    request.modified =
      copy.map { $0.object.lastModified.flatMap(HTTPDate.seconds) }
      ?? Double(file.recorded.mtime.wholeSeconds)
    request.mode = local?.mode
    scope.record.note(.sized(request.size))
    scope.live.setSize(request.size)
  }

  /// SHA-256 always, what the manifest expects, what the server tells.
  private static func digests(of file: SourceFile, _ scope: UploadScope) -> SourceDigests {
    let size = file.facts.size
    return SourceDigests(
      of: file.file, size: size,
      wanted: Set(scope.expect.digests.keys).union(scope.traits.abilities(of: size).fileDigests).union([
        .sha256
      ]),
      pool: scope.context.local.pool)
  }

  // MARK: What the manifest says of it

  /// Whether a chunk's bytes were the source's. One that was only touched is looked at when all are sent.
  func checkWhileSending(in session: RemoteSession?) throws(Failure) {
    guard session != nil, chunkDigest != nil, let local else { return try file.check() }
    try local.check(mayBeTouched: true)
  }

  /// Compares a source that was touched with what was sent of it.
  ///
  /// - Throws: `SOURCE_CHANGED`, `SOURCE_MISSING` where it is no longer what it was when it was opened.
  nonisolated(nonsending) func check(_ sent: HeldChunks) async throws {
    if let touched = try local?.touched(), let algorithm = chunkDigest, sent.bytes == request.size,
      scope.record.progress.session != nil, sent.sorted.allSatisfy({ !$0.digest.isEmpty })
    {
      let takeover = SessionTakeover(scope: scope, source: self)
      for chunk in sent.sorted { try await takeover.check(chunk, algorithm) }
      (local, file) = (touched, touched)
    }
    try file.check()
  }

  /// `verify: size` without expected digests: nothing is hashed.
  var isHashed: Bool { scope.settings.verify != .size || !scope.expect.digests.isEmpty }

  /// Checks what no server has to be asked for.
  nonisolated(nonsending) func checkKnown() async throws {
    try checkSize()
    try await checkType()
  }

  private func checkSize() throws(Failure) {
    guard let size = scope.expect.size, size != file.facts.size else { return }
    scope.record.check(Verification("size", .manifest, .mismatch))
    throw Failure(
      .lengthMismatch,
      "`\(scope.record.transfer.source.text)` has \(file.facts.size) bytes, \(size) are expected",
      expected: String(size), actual: String(file.facts.size))
  }

  nonisolated(nonsending) func checkType() async throws {
    guard let type = scope.expect.type else { return }
    switch try await outcome(ofType: type) {
    case .match: scope.record.check(Verification("type", .manifest, .match))
    case .mismatch(let reason):
      scope.record.check(Verification("type", .manifest, .mismatch))
      throw Failure(.typeMismatch, "\(file.place) is not \(type): \(reason)", expected: type, actual: reason)
    }
  }

  private nonisolated(nonsending) func outcome(ofType type: String) async throws
    -> Digests.MediaTypeRule.Outcome
  {
    if let copy { return try await copy.outcome(ofType: type) }
    guard let file = local?.file else { return .match }
    let size = request.size
    return try await scope.context.local.pool.run {
      try Digests.MediaTypeRule.check(type: type, size: size) { try file.bytes(at: $0, count: $1) }
    }
  }

  /// Compares the source's digests with those that the manifest expects; of a copy what has passed, or is known.
  nonisolated(nonsending) func checkExpectedDigests() async throws {
    guard let copy else { return try checkExpected(try await digests.whole()) }
    _ = try await copy.whole()
    // What the server will not tell either is read once more now, rather than behind the file's appearance.
    try await copy.checkExpected(mayRead: !abilities.fileDigests.isSuperset(of: scope.expect.digests.keys))
  }

  /// Compares the source's digests with those that the manifest expects.
  func checkExpected(_ found: [DigestAlgorithm: String]) throws(Failure) {
    for (algorithm, digest) in scope.expect.digests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let matches = found[algorithm] == digest
      scope.record.check(Verification(algorithm.rawValue, .manifest, matches ? .match : .mismatch))
      guard matches else {
        // Sending it again would change nothing.
        throw Failure(
          .integrityMismatch,
          "\(algorithm.rawValue) of `\(scope.record.transfer.source.text)` is \(found[algorithm] ?? "unknown"), the manifest expects \(digest)",
          class: .permanent, expected: digest, actual: found[algorithm])
      }
    }
  }

  /// Notes what the server said of the finished file.
  func complete(_ uploaded: UploadedFile, digests: [DigestAlgorithm: String]) {
    scope.record.note(
      .uploaded(
        remoteID: uploaded.remoteID, version: uploaded.version, etag: uploaded.etag, digests, file.recorded))
    scope.context.run.writer.submit(.noChunks(seq: scope.record.transfer.seq))
  }
}
