import Glibc
import Posix
import Testing

@testable import SSH

/// How the addresses of a host are tried, one after the other.
@Suite(.timeLimit(.minutes(5)))
struct DialerTests {
  /// Listens on a port of 127.0.0.1.
  private final class Listener {
    let port: Int
    private var sockets: [Int32] = []

    /// - Parameter isSilent: its queue is full, so that first packets get no answer.
    init(isSilent: Bool) throws {
      let listener = try LoopbackListener(backlog: isSilent ? 0 : 8)
      sockets.append(listener.socket)
      port = listener.port
      guard isSilent else { return }
      var address = listener.address
      let length = socklen_t(MemoryLayout<sockaddr_in>.size)
      for _ in 0..<8 {
        let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        sockets.append(filler)
        _ = withUnsafePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(filler, $0, length) }
        }
      }
      usleep(300_000)
    }

    deinit { for socket in sockets { close(socket) } }
  }

  private func dialer(_ listener: Listener) throws -> Dialer {
    Dialer(
      target: SSHTarget(host: "127.0.0.1", port: listener.port, connectTimeout: 8, stepTimeout: 8),
      wake: try Wake())
  }

  @Test func aSilentAddressLeavesTheOthersTheirTime() throws {
    let (silent, open) = (try Listener(isSilent: true), try Listener(isSilent: false))
    let dialer = try dialer(open)
    let addresses = try self.dialer(silent).addresses() + dialer.addresses()
    #expect(addresses.count == 2)
    close(try dialer.connect(to: addresses, until: SystemClock.uptime + 8))
    withExtendedLifetime((silent, open)) {}
  }

  @Test(arguments: [("lo", true), ("nolink0", false)])
  func aSocketIsBoundToItsInterface(_ interface: String, _ isThere: Bool) throws {
    let open = try Listener(isSilent: false)
    var target = SSHTarget(host: "127.0.0.1", port: open.port, connectTimeout: 8, stepTimeout: 8)
    target.interface = interface
    let dialer = Dialer(target: target, wake: try Wake())
    do {
      close(try dialer.connect(until: SystemClock.uptime + 8))
      #expect(isThere)
    } catch SSHFault.interfaceUnavailable { #expect(!isThere) }
    withExtendedLifetime(open) {}
  }

  @Test func silenceIsATimeout() throws {
    let silent = try Listener(isSilent: true)
    let dialer = try dialer(silent)
    #expect(throws: SSHFault.timedOut(.connect, seconds: 8)) {
      try dialer.connect(to: dialer.addresses(), until: SystemClock.uptime + 1)
    }
    withExtendedLifetime(silent) {}
  }
}
