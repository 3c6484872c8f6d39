import NIOCore
import NIOHTTPTypes

/// Closes a connection on which no whole head of a request comes in time: one that is idle, or that a client holds by a
/// head of which it sends no end. How long a body takes is not its matter.
final class HeadTimeout: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  static let limit: TimeAmount = .seconds(60)

  /// Requests whose answers have not been written to their end.
  private var unanswered = 0
  /// A request's head has come, and not yet its end.
  private var isReading = false
  private var closing: Scheduled<Void>?

  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { expectHead(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    expectHead(context)
    context.fireChannelActive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    closing?.cancel()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch Self.unwrapInboundIn(data) {
    case .head:
      closing?.cancel()
      unanswered += 1
      isReading = true
    case .body: break
    case .end:
      isReading = false
      expectHead(context)
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = Self.unwrapOutboundIn(data) {
      unanswered -= 1
      expectHead(context)
    }
    context.write(data, promise: promise)
  }

  /// Begins the time for the next head, where it is that which comes next.
  private func expectHead(_ context: ChannelHandlerContext) {
    guard unanswered == 0, !isReading else { return }
    closing?.cancel()
    let channel = context.channel
    closing = context.eventLoop.scheduleTask(in: Self.limit) { channel.close(mode: .all, promise: nil) }
  }
}
