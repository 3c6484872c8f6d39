import Glibc

/// A plain socket: what is sent and what comes back are bytes.
enum Loopback {
  /// Sends all, then reads to the end of the connection.
  static func exchange(_ bytes: [UInt8], port: Int) throws -> [UInt8] {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    // Closed with a reset: thousands of connections a second would use up the ports.
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try require(connected == 0, "no connection: errno \(errno)")
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      // It may have answered and closed before it read all.
      if count <= 0 { break }
      sent += count
    }
    var received: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let count = recv(socket, &block, block.count, 0)
      if count < 0, errno == EAGAIN { throw Violation(description: "no end of the answer in 30 s") }
      if count <= 0 { return received }
      received.append(contentsOf: block[..<count])
    }
  }
}
