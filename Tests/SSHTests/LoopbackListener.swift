import Glibc
import Testing

/// Listens on a free port of 127.0.0.1; whoever has it closes the socket.
struct LoopbackListener {
  let socket: Int32
  let address: sockaddr_in
  var port: Int { Int(UInt16(bigEndian: address.sin_port)) }

  init(backlog: Int32) throws {
    let server = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(server, $0, length) == 0 && getsockname(server, $0, &length) == 0 && listen(server, backlog) == 0
      }
    }
    try #require(isListening, "errno \(errno)")
    (socket, self.address) = (server, address)
  }
}
