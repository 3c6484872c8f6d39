import Glibc
import Synchronization

/// A server on 127.0.0.1 that says what a test's script says, byte for byte; a thread for each connection.
final class ScriptedServer: Sendable {
  let port: UInt16
  private let listener: Int32
  private let script: @Sendable (Connection) -> Void
  private let count = Atomic<Int>(0)

  /// Connections accepted so far.
  var accepted: Int { count.load(ordering: .acquiring) }
  var url: String { "http://127.0.0.1:\(port)/" }

  init(_ script: @escaping @Sendable (Connection) -> Void) {
    self.script = script
    (listener, port) = Self.listen()
    detached { [self] in
      while true {
        let fd = accept(listener, nil, nil)
        guard fd >= 0 else { return }
        // A program that another test starts would keep the connection open.
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        count.add(1, ordering: .acquiringAndReleasing)
        detached { [script] in
          script(Connection(fd))
          Glibc.close(fd)
        }
      }
    }
  }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// A port that nobody listens on. It stays bound, so that no server of another test is given it.
  static func closedPort() -> UInt16 { bound().port }

  private static func listen() -> (Int32, UInt16) {
    let (fd, port) = bound()
    precondition(Glibc.listen(fd, 512) == 0)
    return (fd, port)
  }

  private static func bound() -> (fd: Int32, port: UInt16) {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        bind(fd, raw, length) == 0 && getsockname(fd, raw, &length) == 0
      }
    }
    precondition(isBound)
    return (fd, UInt16(bigEndian: address.sin_port))
  }
}

/// One accepted connection.
struct Connection: Sendable {
  let fd: Int32
  init(_ fd: Int32) { self.fd = fd }

  /// A request's head without its empty line, or nil where the client has closed.
  func head() -> String? {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard let next = read(1) else { return nil }
      bytes += next
    }
    return String(decoding: bytes.dropLast(4), as: UTF8.self)
  }

  /// So many bytes, or nil where the client closed before.
  func read(_ count: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var buffer = [UInt8](repeating: 0, count: min(65536, count - bytes.count))
      let got = recv(fd, &buffer, buffer.count, 0)
      guard got > 0 else { return nil }
      bytes += buffer.prefix(got)
    }
    return bytes
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      sent += count
    }
  }

  func response(_ body: String, status: String = "200 OK") {
    send("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }
}

/// Runs the work on a thread of its own.
func detached(_ work: @escaping @Sendable () -> Void) {
  final class Box {
    let work: @Sendable () -> Void
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }
  }
  var id = pthread_t()
  let context = Unmanaged.passRetained(Box(work)).toOpaque()
  pthread_create(
    &id, nil,
    { context in
      if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().work() }
      return nil
    }, context)
  pthread_detach(id)
}
