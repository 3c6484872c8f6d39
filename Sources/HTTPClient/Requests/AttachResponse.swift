import Endpoints

/// Takes the answer to an attach request: its status counts, and a refusal's first words. Used on the transport's executor
/// alone, hence sendable to it.
final class AttachResponse: BodyWriter, @unchecked Sendable {
  /// The body says no more that is of use, and may never end.
  struct Enough: Error {}
  /// Bytes of a body that are read: what is shorter leaves its connection to the next request.
  private static let longest = 65_536

  private(set) var head: ResponseHead?
  private(set) var text: [UInt8] = []

  func head(_ head: ResponseHead) { self.head = head }

  func body(_ bytes: UnsafeRawBufferPointer) throws {
    text += bytes.prefix(Self.longest - text.count)
    if text.count >= Self.longest { throw Enough() }
  }
}
