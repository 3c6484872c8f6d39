import NIOCore
import NIOHTTP1

/// What RFC 9112 asks of a request's head, and neither NIO nor Hummingbird looks at: one `Host` in HTTP/1.1 (3.2), and
/// all the ways to say that the connection ends with this request (9.3), which become the one that Hummingbird reads.
final class HeadCheck: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  /// A request was refused: nothing behind it counts.
  private var isOver = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isOver else { return }
    guard case .head(var head) = Self.unwrapInboundIn(data) else {
      context.fireChannelRead(data)
      return
    }
    let hosts = head.headers["Host"].count
    guard hosts == 1 || (hosts == 0 && head.version != .http1_1) else {
      // Hummingbird answers 400, and closes.
      isOver = true
      context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
      return
    }
    if !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
    context.fireChannelRead(Self.wrapInboundOut(.head(head)))
  }
}
