package import JobModel

/// What is known of a kind's downloads without asking a server. A value.
package protocol DownloadTraits: Sendable {
  /// The URL of the bytes, for the report.
  var url: WebURL { get }
  /// The digests of the whole file that the protocol promises before anything is asked, for `plan`.
  var promisedDigests: Set<DigestAlgorithm> { get }
  /// The protocol demands of its servers that they answer ranges, for `plan`.
  var promisesRanges: Bool { get }
  /// The answer to a range from the first byte on says all that `describe` would, where the object ends within the range:
  /// a small object costs one request. Of a larger one, digests are asked for afterwards.
  var firstRangeDescribes: Bool { get }
}

extension DownloadTraits {
  package var promisedDigests: Set<DigestAlgorithm> { [] }
  package var promisesRanges: Bool { false }
  package var firstRangeDescribes: Bool { false }
}
