import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import DepotServer

@Suite struct HeadTimeoutTests {
  private func open() throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(handler: HeadTimeout())
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    return channel
  }

  @Test func noHead() throws {
    let channel = try open()
    channel.embeddedEventLoop.advanceTime(by: .seconds(59))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }

  /// A body may be slow, also that of a request that was refused before its end; so may an answer.
  @Test(arguments: [false, true])
  func whileARequestLasts(isRefused: Bool) throws {
    let channel = try open()
    let head = HTTPRequest(method: .put, scheme: "http", authority: "depot", path: "/files/a")
    try channel.writeInbound(HTTPRequestPart.head(head))
    channel.embeddedEventLoop.advanceTime(by: .seconds(600))
    #expect(channel.isActive)
    for isAnswer in [isRefused, !isRefused] {
      if isAnswer {
        try channel.writeOutbound(HTTPResponsePart.end(nil))
      } else {
        try channel.writeInbound(HTTPRequestPart.end(nil))
      }
      channel.embeddedEventLoop.advanceTime(by: .seconds(59))
      #expect(channel.isActive)
      if isAnswer == isRefused { channel.embeddedEventLoop.advanceTime(by: .seconds(600)) }
    }
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }
}
