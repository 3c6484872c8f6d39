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
    if !isProved || settings.verify == .size,
      case .object(let object, let checks)? = try await sink.inspect(
        file, source: source, chunks: held.sorted)
    {
      seen = object
      if file.digests.isEmpty { file.digests = ownWord(object) }
      file.etag = object.etag ?? file.etag
      file.version = file.version ?? object.version
      if file.checks.isEmpty { file.checks = checks }
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
          .lengthMismatch, "\(sink.place) holds \(size) bytes of the \(source.size) that were sent",
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
        throw Failure(.integrityMismatch, "\(sink.place): the server's \(check.check) is not the source's")
      }
    }
    for (algorithm, theirs) in file.digests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let ours = mine[algorithm] else { continue }
      compared = true
      book.check(Verification(algorithm.rawValue, .server, ours == theirs ? .match : .mismatch))
      guard ours == theirs else {
        throw Failure(
          .integrityMismatch,
          "\(sink.place): the server's \(algorithm.rawValue) is \(theirs), the source's \(ours)",
          expected: ours, actual: theirs)
      }
    }
    guard !compared else { return }
    let isExpected = book.progress.verification.contains {
      $0.against == .manifest && $0.result == .match && expect.digests.keys.map(\.rawValue).contains($0.check)
    }
    if settings.verify == .required, !isExpected {
      throw Failure(.digestUnavailable, "\(sink.place) gives no digest to compare the upload with")
    }
    book.check(Verification("sha256", .server, .unavailable))
  }

  /// Reads the upload back and compares its digest.
  private func readBack(_ file: UploadedFile, _ mine: [DigestAlgorithm: String]) async throws {
    guard let there = try await readBack(file) else {
      book.check(Verification("readback", .server, .unavailable))
      throw Failure(.digestUnavailable, "\(sink.place) can't be read back, as `verify: readback` demands")
    }
    let matches = there.digest == mine[.sha256]
    book.check(Verification("readback", .server, matches ? .match : .mismatch))
    guard matches else {
      throw Failure(
        .integrityMismatch,
        "\(there.place) reads back as \(there.digest), the source is \(mine[.sha256] ?? "unknown")",
        expected: mine[.sha256], actual: there.digest)
    }
  }

  func readBack(_ file: UploadedFile) async throws -> ReadBack? {
    try await sink.readBack(file) { [unowned self] count in
      assumeIsolated { upload in
        upload.book.note(.moved(Int64(count)))
        // Compared, and of no use beyond.
        upload.book.note(.discarded(Int64(count)))
        upload.context.board.count(count)
      }
    }
  }
}
