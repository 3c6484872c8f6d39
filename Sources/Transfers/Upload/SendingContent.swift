import Digests
import JobModel

/// The bytes that are sent, a local file or the object of a copy's source, as far as deciding about them goes.
protocol SendingFile {
  /// Names them in messages.
  var place: String { get }
  /// What they were when they were opened; with a fingerprint.
  var facts: FileFacts { get }
  /// What counts as the source when it is on record.
  var recorded: FileFacts { get }
  /// - Throws: `SOURCE_CHANGED`, `SOURCE_MISSING` where they are no longer what they were.
  func check() throws(Failure)
}

/// Digests of what is sent.
protocol SendingDigests: AnyObject {
  func begin() throws
  func cancel()
  /// Digests of the whole: those that were foreseen, and these besides, as far as they can be known without moving a byte
  /// for it.
  nonisolated(nonsending) func whole(also more: some Sequence<DigestAlgorithm>) async throws
    -> [DigestAlgorithm: String]
  /// Digests of a part.
  nonisolated(nonsending) func of(
    _ range: Range<Int64>, _ algorithms: some Collection<DigestAlgorithm> & Sendable
  ) async throws -> [DigestAlgorithm: String]
  /// Takes the digests of a small file's only body for the whole's.
  func learn(_ found: [DigestAlgorithm: String])
}

extension SendingDigests {
  func learn(_ found: [DigestAlgorithm: String]) {}

  nonisolated(nonsending) func whole() async throws -> [DigestAlgorithm: String] {
    try await whole(also: [DigestAlgorithm]())
  }
}
