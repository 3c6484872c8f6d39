/// Bytes of a file: where they start and how many.
struct ByteRange: Equatable, Sendable {
  var offset: Int
  var count: Int

  /// One past the last byte.
  var end: Int { offset + count }
}
