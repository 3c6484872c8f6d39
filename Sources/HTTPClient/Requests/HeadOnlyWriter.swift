import Endpoints

/// Ends the request when the head has come: a server that ignores ranges would send everything.
///
/// Used on the transport's executor alone, hence sendable to it.
final class HeadOnlyWriter: BodyWriter, @unchecked Sendable {
  struct Enough: Error {}
  private(set) var responseHead: ResponseHead?
  /// A refusal's text.
  private(set) var text: [UInt8] = []
  private let readsBody: Bool

  init(readsBody: Bool) { self.readsBody = readsBody }

  func head(_ head: ResponseHead) throws {
    responseHead = head
    if head.status < 300, !readsBody { throw Enough() }
  }
  func body(_ bytes: UnsafeRawBufferPointer) throws {
    let status = responseHead?.status ?? 0
    if status < 300, status != 206 { throw Enough() }
    if status >= 300, text.count < 65_536 { text += bytes.prefix(65_536 - text.count) }
  }
}
