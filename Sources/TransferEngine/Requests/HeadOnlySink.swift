import Endpoints

/// Ends the request when the head has come: a server that ignores ranges would send everything.
///
/// Used on the transport's executor alone, hence sendable to it.
final class HeadOnlySink: AnswerSink, @unchecked Sendable {
  struct Enough: Error {}
  private(set) var answerHead: AnswerHead?
  /// A refusal's text.
  private(set) var text: [UInt8] = []
  private let readsBody: Bool

  init(readsBody: Bool) { self.readsBody = readsBody }

  func head(_ head: AnswerHead) throws {
    answerHead = head
    if head.status < 300, !readsBody { throw Enough() }
  }
  func body(_ bytes: UnsafeRawBufferPointer) throws {
    let status = answerHead?.status ?? 0
    if status < 300, status != 206 { throw Enough() }
    if status >= 300, text.count < 65_536 { text += bytes.prefix(65_536 - text.count) }
  }
}
