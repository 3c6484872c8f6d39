import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import DepotServer

@Suite struct HeadCheckTests {
  /// What `Connection` says behind the check.
  private func connection(_ version: HTTPVersion, _ headers: HTTPHeaders) throws -> [String] {
    let channel = EmbeddedChannel(handler: HeadCheck())
    defer { _ = try? channel.finish() }
    let head = HTTPRequestHead(version: version, method: .GET, uri: "/files/a", headers: headers)
    try channel.writeInbound(HTTPServerRequestPart.head(head))
    guard case .head(let read)? = try channel.readInbound(as: HTTPServerRequestPart.self) else { return [] }
    return read.headers["Connection"]
  }

  @Test func oneHost() throws {
    for hosts in [[], ["depot", "depot"]] {
      let headers = HTTPHeaders(hosts.map { ("Host", $0) })
      #expect(throws: HTTPParserError.self) { _ = try connection(.http1_1, headers) }
    }
    #expect(throws: Never.self) { _ = try connection(.http1_0, [:]) }
  }

  @Test func behindARefusal() throws {
    let channel = EmbeddedChannel(handler: HeadCheck())
    defer { _ = try? channel.finish() }
    let bare = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/files/a")
    #expect(throws: HTTPParserError.self) { try channel.writeInbound(HTTPServerRequestPart.head(bare)) }
    let whole = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/files/a", headers: ["Host": "depot"])
    try channel.writeInbound(HTTPServerRequestPart.head(whole))
    #expect(try channel.readInbound(as: HTTPServerRequestPart.self) == nil)
  }

  @Test func connectionThatEnds() throws {
    #expect(try connection(.http1_1, ["Host": "depot"]) == [])
    #expect(try connection(.http1_1, ["Host": "depot", "Connection": "Close"]) == ["close"])
    #expect(try connection(.http1_0, [:]) == ["close"])
    #expect(try connection(.http1_0, ["Connection": "keep-alive"]) == ["keep-alive"])
  }
}
