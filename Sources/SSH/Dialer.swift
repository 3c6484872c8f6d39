import Glibc
import Posix

/// Opens the TCP connection: each address is judged before it is connected to.
struct Dialer {
  let target: SSHTarget
  let wake: Wake

  /// - Returns: a connected socket that does not block.
  func connect(until deadline: Double) throws -> Int32 { try connect(to: try addresses(), until: deadline) }

  func connect(to addresses: [Address], until deadline: Double) throws -> Int32 {
    var last: any Error = SSHFault.unresolved("`\(target.host)` has no address")
    for (index, address) in addresses.enumerated() {
      try target.judge(address.bytes)
      // A silent one leaves the others their part of the time.
      let now = SystemClock.uptime
      let share = now + (deadline - now) / Double(addresses.count - index)
      do { return try connect(to: address, until: share) } catch let fault as SSHFault {
        if fault == .stopped { throw fault }
        last = fault
      }
    }
    throw last
  }

  struct Address {
    let family: Int32
    /// A `sockaddr`.
    let storage: [UInt8]
    /// 4 or 16, in network order.
    let bytes: [UInt8]
  }

  func addresses() throws -> [Address] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_family =
      switch target.family {
      case .any: AF_UNSPEC
      case .v4: AF_INET
      case .v6: AF_INET6
      }
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(target.host, String(target.port), &hints, &list)
    guard code == 0 else { throw SSHFault.unresolved(String(cString: gai_strerror(code))) }
    defer { freeaddrinfo(list) }
    var found: [Address] = []
    var next = list
    while let one = next {
      next = one.pointee.ai_next
      guard let address = one.pointee.ai_addr else { continue }
      let storage = Array(UnsafeRawBufferPointer(start: address, count: Int(one.pointee.ai_addrlen)))
      // After the family and the port; of IPv6, after the flow label too.
      let (start, count) = one.pointee.ai_family == AF_INET ? (4, 4) : (8, 16)
      guard storage.count >= start + count else { continue }
      found.append(
        Address(
          family: one.pointee.ai_family, storage: storage, bytes: Array(storage[start..<start + count])))
    }
    return found
  }

  private func connect(to address: Address, until deadline: Double) throws -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(address.family, type, 0)
    guard descriptor >= 0 else { throw SSHFault.unconnected("\(SystemError())") }
    do {
      try prepare(descriptor)
      let code = address.storage.withUnsafeBytes { bytes in
        bytes.baseAddress.map {
          Glibc.connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        } ?? -1
      }
      if code != 0 {
        guard errno == EINPROGRESS else { throw SSHFault.unconnected("\(SystemError())") }
        try finish(descriptor, until: deadline)
      }
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private func prepare(_ descriptor: Int32) throws {
    var on: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, size)
    setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, size)
    guard let interface = target.interface else { return }
    let name = Array(interface.utf8) + [0]
    var told = [UInt8](repeating: 0, count: Int(IFNAMSIZ))
    var length = socklen_t(told.count)
    // Read back, as nothing may leave otherwise.
    guard setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, name, socklen_t(name.count)) == 0,
      getsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, &told, &length) == 0
    else { throw SSHFault.interfaceUnavailable("the interface `\(interface)`: \(SystemError())") }
    guard told.prefix(while: { $0 != 0 }).elementsEqual(interface.utf8) else {
      throw SSHFault.interfaceUnavailable("the interface `\(interface)` is not what the socket is bound to")
    }
  }

  private func finish(_ descriptor: Int32, until deadline: Double) throws {
    while try !wake.wait(for: descriptor, Int32(POLLOUT), seconds: deadline - SystemClock.uptime) {
      guard SystemClock.uptime < deadline else {
        throw SSHFault.timedOut(.connect, seconds: target.connectTimeout)
      }
    }
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
    guard code == 0 else { throw SSHFault.unconnected("\(SystemError(code))") }
  }
}
