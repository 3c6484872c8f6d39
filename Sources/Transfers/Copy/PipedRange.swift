import JobModel

/// A part of a copy's source that passes through a `BytePipe`.
struct PipedRange: Sendable {
  let range: Range<Int64>
  /// The source's one stream, which several chunks are taken from; else the body of one request.
  let isStream: Bool
  /// The digest that was made of it in an earlier reading, lower-case hex.
  let expected: (algorithm: DigestAlgorithm, hex: String)?

  init(
    _ range: Range<Int64>, isStream: Bool, expected: (algorithm: DigestAlgorithm, hex: String)? = nil
  ) {
    (self.range, self.isStream, self.expected) = (range, isStream, expected)
  }
}
