import Endpoints

/// The body of a request that names the bytes it is about in place of carrying them: none.
///
/// Used on the transport's executor alone, hence sendable to it.
final class NamedBody: SentBody, Sendable {
  var length: Int64 { 0 }
  var sent: Int64 { 0 }
  var hashed: String? { nil }
  var mayBeRepeated: Bool { true }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }
  func rewind() {}
  func settle(sent: Int64) {}
}
