import CSSH2
import Glibc
import Locks

/// Wakes a thread that waits in poll(2), and tells it to stop.
final class Wake: Sendable {
  let descriptor: Int32
  private let state = Locked(State())

  private struct State: Sendable {
    var isStopped = false
    var socket: Int32?
  }

  /// - Throws: `SSHFault` where there are no descriptors left.
  init() throws {
    descriptor = haul_event()
    guard descriptor >= 0 else { throw SSHFault.unconnected(String(cString: strerror(errno))) }
  }

  deinit { Glibc.close(descriptor) }

  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// - Parameter socket: is shut down by `stop`: libssh2 reads on by itself as long as a server sends what it passes over. Nil
  ///   before it is closed.
  func watch(_ socket: Int32?) { change { $0.socket = socket } }

  func stop() {
    change { $0.isStopped = true }
    signal()
  }

  private func change(_ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      if state.isStopped, let socket = state.socket { shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  func signal() {
    var one: UInt64 = 1
    _ = Glibc.write(descriptor, &one, 8)
  }

  private func clear() {
    var count: UInt64 = 0
    _ = Glibc.read(descriptor, &count, 8)
  }

  /// Waits until the socket is ready, somebody signals, or the time is over.
  ///
  /// - Parameter seconds: at most.
  /// - Returns: whether the socket is ready.
  /// - Throws: `SSHFault.stopped`.
  func wait(for socket: Int32, _ events: Int32, seconds: Double) throws -> Bool {
    var waiting = [
      pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0),
      pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: POLLIN), revents: 0),
    ]
    let milliseconds = Int32(min(max(0, seconds), 60) * 1000) + 1
    let count = poll(&waiting, 2, milliseconds)
    if count > 0, waiting[1].revents != 0 { clear() }
    guard !isStopped else { throw SSHFault.stopped }
    return count > 0 && waiting[0].revents != 0
  }
}
