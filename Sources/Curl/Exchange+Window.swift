import CCurl
import Glibc

/// The sockets of connections, by their local port. Used on its network thread only.
final class Sockets {
  private var ports: [Int32: Int32] = [:]

  func add(_ socket: Int32, port: Int32) { ports[port] = socket }

  /// The socket, unless it was closed and its number given to something else since.
  func socket(port: Int32) -> Int32? {
    guard let socket = ports[port] else { return nil }
    if Self.port(socket) == port { return socket }
    ports[port] = nil
    return nil
  }

  static func port(_ socket: Int32) -> Int32? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &address) { bytes in
      guard let start = bytes.baseAddress,
        getsockname(socket, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
      else { return nil }
      // It stands in the same place in either family's address.
      return Int32(UInt16(bigEndian: start.load(fromByteOffset: 2, as: UInt16.self)))
    }
  }
}

/// The receive buffer of a connection that is in use.
extension Exchange {
  /// Remembers which of the sockets that were tried became the connection.
  func connected(port: Int32) {
    localPort = port
    if let socket = opened.first(where: { Sockets.port($0) == port }) { sockets?.add(socket, port: port) }
    opened = []
  }

  /// Nil gives it back to the kernel.
  func fit(_ receiveBuffer: Int?) {
    guard let localPort, let socket = sockets?.socket(port: localPort) else { return }
    var value = Int32.max
    if let receiveBuffer {
      // In less than a few segments a sender waits for its timers; the loopback's are of 64 KiB.
      var segment = Int32(0)
      var length = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(socket, Int32(IPPROTO_TCP), TCP_MAXSEG, &segment, &length)
      value = Int32(clamping: max(receiveBuffer, segment > 4096 ? 4 * Int(segment) : 0))
    }
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &value, socklen_t(MemoryLayout<Int32>.size))
    guard receiveBuffer == nil else { return }
    // socket.h, SO_BUF_LOCK, since Linux 5.14: from what the system grants on, the kernel lets it grow again.
    var unlocked = Int32(0)
    setsockopt(socket, SOL_SOCKET, Self.bufferLock, &unlocked, socklen_t(MemoryLayout<Int32>.size))
  }

  private static let bufferLock: Int32 = 72
}
