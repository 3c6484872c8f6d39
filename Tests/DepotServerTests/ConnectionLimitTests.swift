import Glibc
import NIOPosix
import Testing

@testable import DepotServer

@Suite struct ConnectionLimitTests {
  @Test(arguments: [(256, 2, 93), (1024, 64, 384), (64, 8, 16), (Int.max, 2, (Int.max - 70) / 2)])
  func fits(openFiles: Int, cores: Int, expected: Int) {
    #expect(ConnectionLimit.connections(openFiles: openFiles, cores: cores) == expected)
  }

  /// The system gives up a client that takes nothing of its answer: for depot that is a long answer.
  @Test func clientThatTakesNothing() async throws {
    try await Fixture.run { (fixture) async throws in
      let client = try RawClient.connected(to: fixture.depot.port)
      defer { close(client) }
      // A connection that answers is set up.
      let count = try await NIOThreadPool.singleton.runIfActive {
        let request = Array("GET /files/a HTTP/1.1\r\nHost: depot\r\n\r\n".utf8)
        send(client, request, request.count, 0)
        var byte: UInt8 = 0
        return recv(client, &byte, 1, 0)
      }
      #expect(count == 1)
      var limit: Int32 = 0
      for descriptor in Int32(0)..<4096 where port(of: descriptor, isPeer: true) == port(of: client) {
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, &size)
      }
      #expect(limit == 300_000)
    }
  }

  private func port(of descriptor: Int32, isPeer: Bool = false) -> in_port_t? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        isPeer ? getpeername(descriptor, $0, &length) : getsockname(descriptor, $0, &length)
      }
    }
    return result == 0 && address.sin_family == sa_family_t(AF_INET) ? address.sin_port : nil
  }
}
