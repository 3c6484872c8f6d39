import Glibc
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Hummingbird's HTTP/1.1 connection with buffers sized for bulk data.
struct DepotChannel: ServerChildChannel {
  let http: HTTP1Channel

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    channel.eventLoop.makeCompletedFuture {
      let options = channel.syncOptions
      try options?.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 256 << 10))
      try options?.setOption(.writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20))
      try options?.setOption(.tcpOption(.tcp_nodelay), value: 1)
      // Milliseconds in which a client takes nothing of what is sent to it: the idle limit counts only what it sends.
      try options?.setOption(.tcpOption(.init(rawValue: TCP_USER_TIMEOUT)), value: 300_000)
    }.flatMap { http.setup(channel: channel, logger: logger) }.flatMapThrowing { value in
      let handlers = channel.pipeline.syncOperations
      let decoder = try handlers.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      let position = ChannelPipeline.SynchronousOperations.Position.after(decoder)
      try handlers.addHandler(HeadCheck(), position: position)
      return value
    }
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async {
    await http.handle(value: value, logger: logger)
  }
}
