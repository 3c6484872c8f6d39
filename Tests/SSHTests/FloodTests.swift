import Glibc
import Posix
import Testing

@testable import SSH

/// A server that sends for ever what libssh2 passes over by itself: it keeps no thread beyond the time for a login.
@Suite(.timeLimit(.minutes(5)))
struct FloodTests {
  private final class Deaf: SSHReceiver {
    func received(_ bytes: UnsafeRawBufferPointer) {}
    func tick() {}
    func ended(_ fault: any Error) {}
  }

  @Test func aFloodEndsWithItsTime() async throws {
    let listener = try LoopbackListener(backlog: 1)
    let server = listener.socket
    defer { close(server) }
    async let isCutOff = DedicatedThread.run { Self.flood(server) }
    let target = SSHTarget(host: "127.0.0.1", port: listener.port, connectTimeout: 0.5, stepTimeout: 0.1)
    await #expect(throws: SSHFault.self) {
      try await SSHLink.open(
        target, as: SSHLogin(user: "a"), subsystem: "sftp", receiver: Deaf(), trust: { _ in })
    }
    #expect(try await isCutOff)
  }

  /// Sends lines to who connects.
  ///
  /// - Returns: whether the other side ended it; false after a minute.
  private static func flood(_ server: Int32) -> Bool {
    let client = accept(server, nil, nil)
    defer { close(client) }
    let lines = [UInt8](String(repeating: String(repeating: "x", count: 99) + "\n", count: 600).utf8)
    let end = SystemClock.uptime + 60
    while SystemClock.uptime < end {
      if send(client, lines, lines.count, Int32(MSG_NOSIGNAL)) < 0 { return true }
    }
    return false
  }
}
