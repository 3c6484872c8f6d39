import CCurl
import Glibc
import Posix

/// How a connection's socket comes to be: judged by its address, bound to its interface.
extension Exchange {
  static let onOpen: haul_curl_open = { context, _, address in
    guard let exchange = Exchange.from(context), let address else { return CURL_SOCKET_BAD }
    return exchange.open(address)
  }

  /// Connected, or given a kept connection, and about to send.
  static let onReady: haul_curl_prereq = { context, address, _, port, localPort in
    guard let exchange = Exchange.from(context) else { return Int32(CURL_PREREQFUNC_ABORT) }
    guard exchange.mayBegin(), exchange.isAdmitted(address, port: port) else {
      return Int32(CURL_PREREQFUNC_ABORT)
    }
    exchange.connected(port: localPort)
    exchange.watch.begin(SystemClock.uptime)
    return Int32(CURL_PREREQFUNC_OK)
  }

  /// libcurl sends a request again, on another connection, that a kept one gave no answer to. Where twice is not as good as
  /// once (RFC 9110, 9.2.2), whoever sent it has to know of the first.
  private func mayBegin() -> Bool {
    guard watch.hasBegun, !receivedBytes, ["POST", "PATCH", "MOVE"].contains(request.method) else {
      return true
    }
    failure = CurlError(kind: .emptyReply, message: "a kept connection ended before the answer came")
    return false
  }

  private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    do {
      if let admission = request.options.admission {
        guard let peer = Self.peer(address) else { return CURL_SOCKET_BAD }
        try admission.judge(peer)
      }
    } catch {
      // Another address of the name may do; where none does, this is why.
      refusal = error
      return CURL_SOCKET_BAD
    }
    let kind = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let socket = socket(address.pointee.family, kind, address.pointee.protocol)
    guard socket >= 0 else { return CURL_SOCKET_BAD }
    if let interface = request.options.interface, !Self.bind(socket, to: interface) {
      refusal = CurlError(
        kind: .interfaceUnavailable,
        message:
          "no socket could be bound to the interface `\(interface)`: \(String(cString: strerror(errno)))")
      close(socket)
      return CURL_SOCKET_BAD
    }
    hasOpened = true
    opened.append(socket)
    return socket
  }

  /// socket(7), SO_BINDTODEVICE: since Linux 5.7 without privileges. Read back, as nothing may leave otherwise.
  private static func bind(_ socket: Int32, to interface: String) -> Bool {
    let name = Array(interface.utf8) + [0]
    guard setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, name, socklen_t(name.count)) == 0 else {
      return false
    }
    var told = [UInt8](repeating: 0, count: Int(IFNAMSIZ))
    var length = socklen_t(told.count)
    guard getsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, &told, &length) == 0 else { return false }
    return told.prefix { $0 != 0 }.elementsEqual(interface.utf8)
  }

  private static func peer(_ address: UnsafeMutablePointer<curl_sockaddr>) -> CurlAdmission.Peer? {
    // The address may be longer than the field that begins it (curl.h says so of this struct).
    let start = UnsafeRawPointer(address) + (MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
    switch address.pointee.family {
    case AF_INET:
      let found = start.loadUnaligned(as: sockaddr_in.self)
      return CurlAdmission.Peer(
        address: withUnsafeBytes(of: found.sin_addr) { Array($0) },
        port: Int(UInt16(bigEndian: found.sin_port)))
    case AF_INET6:
      let found = start.loadUnaligned(as: sockaddr_in6.self)
      return CurlAdmission.Peer(
        address: withUnsafeBytes(of: found.sin6_addr) { Array($0) },
        port: Int(UInt16(bigEndian: found.sin6_port)))
    default: return nil
    }
  }

  /// A kept connection was judged when it was made; the rule is asked again all the same.
  private func isAdmitted(_ text: UnsafePointer<CChar>?, port: Int32) -> Bool {
    guard let admission = request.options.admission else { return true }
    var bytes = [UInt8](repeating: 0, count: 16)
    let family = text.map { strchr($0, 58) == nil ? AF_INET : AF_INET6 } ?? AF_INET
    guard let text, inet_pton(family, text, &bytes) == 1 else {
      failure = CurlError(kind: .other, message: "libcurl does not know the address that it is connected to")
      return false
    }
    let address = Array(bytes.prefix(family == AF_INET ? 4 : 16))
    do {
      try admission.judge(CurlAdmission.Peer(address: address, port: Int(port)))
      return true
    } catch {
      failure = error
      return false
    }
  }
}
