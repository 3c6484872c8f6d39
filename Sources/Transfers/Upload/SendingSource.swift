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
  private(set) var file: SourceFile
  private(set) var digests: SourceDigests
  /// What requests say of it.
  var request: UploadSource
  /// Digests on record of an earlier completion, where the file has not changed since.
  var recorded: [DigestAlgorithm: String] = [:]

  init(_ file: SourceFile, _ path: String, _ scope: UploadScope) throws {
    (self.file, self.scope) = (file, scope)
    let (progress, settings, size) = (scope.record.progress, scope.settings, file.facts.size)
    let choice = ChunkSizeChoice(
      size: size, settings: settings, abilities: scope.traits.abilities(of: size),
      limits: scope.context.limits, afterDamage: progress.chunkSize,
      begun: progress.session?.chunkSize ?? (scope.record.hasChunks ? progress.automaticChunk : nil),
      rate: scope.context.rate(for: scope.record.transfer),
      limit: scope.context.uploads.chunkLimits[scope.sink.origin])
    request = UploadSource(
      size: size, contentType: settings.contentType ?? ContentTypes.of(path),
      chunkSize: try choice.bytes(scope.record.transfer.destination) { scope.record.warn($0, hint: $1) },
      mustBeNew: settings.ifExists != .replace && progress.completedAt == nil)
    digests = Self.digests(of: file, scope)
    try checkSize()
    try describe()
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
    let isKept = abilities.resumes || scope.traits.opensSession(for: request)
    return abilities.chunkDigests.first ?? (isKept && !abilities.provesWholeFile ? .sha256 : nil)
  }
  /// All that are computed of a chunk.
  var chunkDigests: [DigestAlgorithm] {
    abilities.chunkDigests.isEmpty ? chunkDigest.map { [$0] } ?? [] : abilities.chunkDigests
  }

  /// Takes what is under the file's name now for the source.
  func reopen() throws {
    recorded = [:]
    file = try file.reopened()
    digests = Self.digests(of: file, scope)
    try describe()
  }

  /// Chunks a quarter as large, as far as the protocol takes them.
  func shrinkChunks() {
    let smaller = abilities.chunkSize(wanted: max(65_536, request.chunkSize / 4), of: request.size)
    request.chunkSize = min(request.chunkSize, smaller)
    scope.record.note(.chunked(request.chunkSize))
  }

  private func describe() throws {
    request.size = file.facts.size
    request.fingerprint = file.facts.fingerprint
    request.contentName =
      scope.traits.abilities.namesContent ? try file.fingerprint(prefix: scope.record.id) : nil
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

  /// `verify: size` without expected digests: nothing is hashed.
  var isHashed: Bool { scope.settings.verify != .size || !scope.expect.digests.isEmpty }

  /// Checks what no server has to be asked for.
  nonisolated(nonsending) func checkKnown() async throws {
    try checkSize()
    try await checkType()
  }

  private func checkSize() throws(Failure) {
    guard let size = scope.expect.size, size != file.facts.size else { return }
    throw Failure(
      .lengthMismatch,
      "`\(scope.record.transfer.source.text)` has \(file.facts.size) bytes, \(size) are expected",
      expected: String(size), actual: String(file.facts.size))
  }

  nonisolated(nonsending) func checkType() async throws {
    guard let type = scope.expect.type else { return }
    let (file, size) = (file.file, request.size)
    let verdict = try await scope.context.local.pool.run {
      try MediaTypeRule.check(type: type, size: size) { try file.bytes(at: $0, count: $1) }
    }
    switch verdict {
    case .match: scope.record.check(Verification("type", .manifest, .match))
    case .mismatch(let reason):
      scope.record.check(Verification("type", .manifest, .mismatch))
      throw Failure(.typeMismatch, "`\(file.path)` is not \(type): \(reason)", expected: type, actual: reason)
    }
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
