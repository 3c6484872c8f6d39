import Digests
import Endpoints
import JobLedger
import JobModel

/// Proving that the server has what we have.
extension Upload {
  func prove(_ uploaded: UploadedFile) async throws {
    var file = uploaded
    try checkSource()
    var seen = RemoteObject()
    if file.digests.isEmpty, file.checks.isEmpty { file.checks = try await checksOfBodies() }
    // One body that is proved is all of it.
    let isProved = !file.digests.isEmpty || book.progress.session == nil && !file.checks.isEmpty
    if !isProved || settings.verify == .size, let request = remote.inspect(file) {
      let answer = try await requester.call(request)
      switch remote.inspected(answer, now: context.clock.now()) {
      case .failure(let failure) where failure.code == .notFound:
        throw Failure(
          .notFound, "\(remote.url) took the upload, and then answered that it does not have it",
          httpStatus: answer.status)
      case .failure: break
      case .value(let object):
        seen = object
        if file.digests.isEmpty { file.digests = ownWord(object) }
        file.etag = object.etag ?? file.etag
        file.version = file.version ?? object.version
        if file.checks.isEmpty {
          file.checks = remote.checks(answer, source: source, chunks: Array(held.values))
        }
      }
    }
    let mine =
      settings.verify == .size && expect.digests.isEmpty
      ? [:] : try await wholeDigests(also: file.digests.keys)
    try checkSource()
    if let size = expect.size {
      book.check(Verification("size", .manifest, size == source.size ? .match : .mismatch))
    }
    if let size = seen.size {
      let matches = size == source.size
      book.check(Verification("size", .server, matches ? .match : .mismatch))
      guard matches else {
        throw Failure(
          .lengthMismatch, "\(remote.url) holds \(size) bytes of the \(source.size) that were sent",
          expected: String(source.size), actual: String(size))
      }
    }
    if settings.verify != .size { try compare(file, mine) }
    if settings.verify == .readback { try await readBack(file, mine) }
    complete(file, digests: mine)
    if let etag = file.etag { book.note(.etag(etag)) }
  }

  private func compare(_ file: UploadedFile, _ mine: [DigestAlgorithm: String]) throws {
    var compared = false
    for check in file.checks {
      book.check(check)
      compared = compared || check.result == .match
      guard check.result != .mismatch else {
        throw Failure(.integrityMismatch, "\(remote.url): the server's \(check.check) is not the source's")
      }
    }
    for (algorithm, theirs) in file.digests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let ours = mine[algorithm] else { continue }
      compared = true
      book.check(Verification(algorithm.rawValue, .server, ours == theirs ? .match : .mismatch))
      guard ours == theirs else {
        throw Failure(
          .integrityMismatch,
          "\(remote.url): the server's \(algorithm.rawValue) is \(theirs), the source's \(ours)",
          expected: ours, actual: theirs)
      }
    }
    guard !compared else { return }
    let isExpected = book.progress.verification.contains {
      $0.against == .manifest && $0.result == .match && expect.digests.keys.map(\.rawValue).contains($0.check)
    }
    if settings.verify == .required, !isExpected {
      throw Failure(.digestUnavailable, "\(remote.url) gives no digest to compare the upload with")
    }
    book.check(Verification("sha256", .server, .unavailable))
  }

  /// Reads the upload back and compares its digest.
  private func readBack(_ file: UploadedFile, _ mine: [DigestAlgorithm: String]) async throws {
    guard let download = remote.readback(file) else {
      book.check(Verification("readback", .server, .unavailable))
      throw Failure(.digestUnavailable, "\(remote.url) can't be read back, as `verify: readback` demands")
    }
    let digest = try await digest(of: download)
    let matches = digest == mine[.sha256]
    book.check(Verification("readback", .server, matches ? .match : .mismatch))
    guard matches else {
      throw Failure(
        .integrityMismatch,
        "\(download.url) reads back as \(digest), the source is \(mine[.sha256] ?? "unknown")",
        expected: mine[.sha256], actual: digest)
    }
  }

  /// Reads all that stands there, keeps nothing of it, and gives its SHA-256.
  func digest(of download: any DownloadProtocol) async throws -> String {
    try await requester.retrying {
      let sink = try DigestingSink { [unowned self] count in
        assumeIsolated { upload in
          upload.book.note(.moved(Int64(count)))
          // Compared, and of no use beyond.
          upload.book.note(.discarded(Int64(count)))
          upload.context.board.count(count)
        }
      }
      let request = download.get(nil, of: RemoteObject())
      let url = try await self.requester.send(request, body: .none) { sink }
      let head = sink.answerHead ?? AnswerHead(status: 0)
      guard head.status == 200 else {
        throw download.refusal(
          Answer(head: head, url: url), doing: "read back", now: self.context.clock.now())
      }
      guard head.carriesWhole else {
        throw Failure(
          .protocolViolation, "\(url) answered with a part, where everything was asked for", httpStatus: 200,
          actual: head.headers["Content-Range"])
      }
      return sink.finish()
    }
  }
}

/// Hashes an answer's body and keeps nothing of it.
///
/// Used on the transport's executor alone, hence sendable to it.
private final class DigestingSink: AnswerSink, @unchecked Sendable {
  private(set) var answerHead: AnswerHead?
  private let digest: StreamingDigest

  private let moved: (Int) -> Void

  init(moved: @escaping (Int) -> Void) throws {
    digest = try StreamingDigest(.sha256)
    self.moved = moved
  }

  func head(_ head: AnswerHead) { answerHead = head }
  func body(_ bytes: UnsafeRawBufferPointer) {
    digest.update(bytes)
    moved(bytes.count)
  }
  func finish() -> String { digest.finishHex() }
}
