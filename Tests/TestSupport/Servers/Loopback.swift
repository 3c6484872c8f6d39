import Foundation
import Synchronization

/// Ports and readiness of servers on 127.0.0.1.
package enum Loopback {
  /// Below the ports that the kernel gives to connections, and so far below that those of servers with a second one at a
  /// distance of 10,000 (`weed`) are there, too: no connection takes one between its choice and its server's start.
  private static let ports = 10_000..<22_000
  private static let next = Mutex(Int.random(in: ports))

  /// A port that is free, and that no other test is given.
  package static func freePort() throws -> Int {
    for _ in ports {
      let port = next.withLock { next in
        next = next + 1 < ports.upperBound ? next + 1 : ports.lowerBound
        return next
      }
      if isFree(port) { return port }
    }
    throw TestFault("no free port: errno \(errno)")
  }

  private static func isFree(_ port: Int) -> Bool {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = Self.address(port)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  /// Whether somebody listens there: the port of a server that has ended may be another test's by now.
  package static func isTaken(portOf url: String) -> Bool {
    accepts(url.split(separator: ":").last.flatMap { Int($0.prefix(while: \.isNumber)) } ?? 0)
  }

  static func accepts(_ port: Int) -> Bool {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = Self.address(port)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  /// The same on ::1.
  static func acceptsOnV6(_ port: Int) -> Bool {
    let socket = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = in_port_t(port).bigEndian
    address.sin6_addr = in6addr_loopback
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
      }
    }
  }

  /// Starts a server that listens on the port that it is told, and waits until it answers: on another port where
  /// something else took that one before the server did.
  static func serve(
    accepts: (Int) -> Bool = Self.accepts, _ start: (_ port: Int) async throws -> Running
  ) async throws -> (port: Int, process: Running) {
    for _ in 0..<4 {
      let port = try freePort()
      let process = try await start(port)
      do {
        try await ready(process, port: port, accepts: accepts)
        return (port, process)
      } catch let fault as TestFault where fault.description.lowercased().contains("address already in use") {
        continue
      }
    }
    throw TestFault("four ports in turn were taken")
  }

  /// Waits until the server that was started answers; says what it said where it ended instead.
  static func ready(_ process: Running, port: Int, accepts: (Int) -> Bool = Self.accepts) async throws {
    for _ in 0..<9000 {
      guard process.isAlive else {
        throw TestFault("a server ended at once: \(process.errors) \(process.output)")
      }
      if accepts(port) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw TestFault("a server did not answer on port \(port)")
  }

  /// Waits for a line of its output and gives what stands after `mark`.
  static func announced(_ process: Running, after mark: String) async throws -> String {
    for _ in 0..<9000 {
      let said = process.output
      if let found = said.range(of: mark), let end = said[found.upperBound...].firstIndex(of: "\n") {
        return String(said[found.upperBound..<end])
      }
      guard process.isAlive else { throw TestFault("a server ended at once: \(process.errors) \(said)") }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw TestFault("a server did not say `\(mark)`: \(process.errors)")
  }

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
  }
}
