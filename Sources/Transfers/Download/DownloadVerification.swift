import Digests
import JobLedger
import JobModel
import LocalFiles

/// Compares a download's bytes with what the manifest and the server say of them.
struct DownloadVerification {
  let expect: Expectation
  let level: VerifyLevel
  /// Names the source in messages.
  let place: String
  /// Told of each check and how it came out.
  let tell: (Verification) -> Void

  init(_ record: TransferRecord, of place: String) {
    self.init(record.transfer.expect, record.transfer.settings.verify, of: place) { record.check($0) }
  }

  init(_ expect: Expectation, _ level: VerifyLevel, of place: String, tell: @escaping (Verification) -> Void)
  {
    self.expect = expect
    self.level = level
    self.place = place
    self.tell = tell
  }

  /// - Parameters:
  ///   - actual: bytes that are here.
  ///   - told: bytes that the server says; nil where it does not.
  /// - Returns: the file's size.
  func checkSize(_ actual: Int64, told: Int64?, in file: String) throws(Failure) -> Int64 {
    let size = told ?? actual
    tell(Verification("size", .server, told == nil ? .unavailable : .match))
    if let wanted = expect.size {
      tell(Verification("size", .manifest, wanted == size ? .match : .mismatch))
      guard wanted == size else {
        throw Failure(
          .lengthMismatch, "\(place) gave \(size) bytes, \(wanted) are expected", expected: String(wanted),
          actual: String(size))
      }
    }
    guard actual == size else {
      throw Failure(
        .ioError,
        "the part file of `\(file)` has \(actual) bytes in place of \(size): somebody else changed it")
    }
    return size
  }

  /// Compares at every level what the manifest expects; with `verify: size` nothing else.
  ///
  /// - Parameter promised: by the server.
  func checkDigests(
    _ found: [DigestAlgorithm: String], promised: [DigestAlgorithm: String]
  ) throws(Failure) {
    try compare(found, with: expect.digests, .manifest, "the manifest expects")
    guard level != .size else { return }
    try compare(found, with: promised, .server, "the server promised")
    if expect.digests.isEmpty, promised.isEmpty { tell(Verification("sha256", .server, .unavailable)) }
  }

  private func compare(
    _ found: [DigestAlgorithm: String], with promised: [DigestAlgorithm: String],
    _ against: Verification.Against, _ by: String
  ) throws(Failure) {
    for (algorithm, digest) in promised.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let matches = found[algorithm] == digest
      tell(Verification(algorithm.rawValue, against, matches ? .match : .mismatch))
      guard matches else {
        throw Failure(
          .integrityMismatch,
          "\(place): \(algorithm.rawValue) of what was received is \(found[algorithm] ?? "unknown"), \(by) \(digest)",
          expected: digest, actual: found[algorithm])
      }
    }
  }

  /// - Parameter read: bytes of the file, by offset and count.
  nonisolated(nonsending) func checkType(
    size: Int64, on pool: BlockingPool, _ read: @escaping @Sendable (Int64, Int) throws -> [UInt8]
  ) async throws {
    guard let type = expect.type else { return }
    switch try await pool.run({ try MediaTypeRule.check(type: type, size: size, read: read) }) {
    case .match: tell(Verification("type", .manifest, .match))
    case .mismatch(let reason):
      tell(Verification("type", .manifest, .mismatch))
      throw Failure(.typeMismatch, "\(place) is not \(type): \(reason)", expected: type, actual: reason)
    }
  }
}
