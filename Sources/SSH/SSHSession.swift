import CSSH2
import Glibc
import Posix

/// One SSH connection over a connected socket. Owns libssh2's session and the socket. Used on one thread.
final class SSHSession {
  /// libssh2 counts its initialisations; this one lasts as long as the process.
  private static let isReady = libssh2_init(0) == 0

  let handle: OpaquePointer
  private let socket: Int32
  private let wake: Wake

  /// - Parameter socket: is closed with the session.
  init(_ socket: Int32, _ wake: Wake) throws {
    guard Self.isReady, let handle = libssh2_session_init_ex(nil, nil, nil, nil) else {
      close(socket)
      throw SSHFault.broken("libssh2 has no memory")
    }
    (self.handle, self.socket, self.wake) = (handle, socket, wake)
    libssh2_session_set_blocking(handle, 0)
    wake.watch(socket)
  }

  deinit {
    // Once: the server need not hear it.
    libssh2_session_disconnect_ex(handle, Int32(SSH_DISCONNECT_BY_APPLICATION), "", "")
    // What libssh2 would still send fails at once, so that freeing never waits.
    shutdown(socket, Int32(SHUT_RDWR))
    var left = 16
    while left > 0, libssh2_session_free(handle) == LIBSSH2_ERROR_EAGAIN { left -= 1 }
    wake.watch(nil)
    close(socket)
  }

  // MARK: Steps

  func handshake(_ types: [String], until deadline: Double, timeout: Double) throws {
    if !types.isEmpty {
      guard
        libssh2_session_method_pref(handle, Int32(LIBSSH2_METHOD_HOSTKEY), types.joined(separator: ",")) == 0
      else {
        throw SSHFault.nothingInCommon("libssh2 knows no host keys of type \(types.joined(separator: ", "))")
      }
    }
    let code = try drive(.connect, until: deadline, timeout) {
      libssh2_session_handshake(handle, socket)
    }
    switch code {
    case 0: return
    case LIBSSH2_ERROR_KEX_FAILURE, LIBSSH2_ERROR_METHOD_NONE, LIBSSH2_ERROR_METHOD_NOT_SUPPORTED:
      throw SSHFault.nothingInCommon(message)
    case LIBSSH2_ERROR_BANNER_RECV, LIBSSH2_ERROR_BANNER_NONE, LIBSSH2_ERROR_PROTO:
      throw SSHFault.notSSH(message)
    default: throw SSHFault.broken(message)
    }
  }

  /// The server's public key (RFC 4253, 6.6), which it has proved to have.
  func hostKey() throws -> [UInt8] {
    var (count, type): (Int, Int32) = (0, 0)
    guard let key = libssh2_session_hostkey(handle, &count, &type), count > 0 else {
      throw SSHFault.broken("the server showed no host key")
    }
    return Array(UnsafeRawBufferPointer(start: key, count: count))
  }

  /// A channel of this session with a subsystem of the server's at its other end.
  func channel(_ subsystem: String, timeout: Double) throws -> SSHChannel {
    let (deadline, kind) = (SystemClock.uptime + timeout, "session")
    while true {
      if let channel = libssh2_channel_open_ex(
        handle, kind, UInt32(kind.utf8.count), SSHChannel.window, SSHChannel.packet, nil, 0)
      {
        let opened = SSHChannel(channel, of: self)
        let code = try drive(.channel, until: deadline, timeout) {
          libssh2_channel_process_startup(
            channel, "subsystem", 9, subsystem, UInt32(subsystem.utf8.count))
        }
        guard code == 0 else { throw noChannel }
        return opened
      }
      guard libssh2_session_last_errno(handle) == LIBSSH2_ERROR_EAGAIN else {
        throw noChannel
      }
      try wait(.channel, until: deadline, timeout)
    }
  }

  private var noChannel: SSHFault { isClosed ? .broken(message) : .noSubsystem(message) }

  // MARK: Waiting

  /// Repeats a call until it does not ask to be repeated.
  func drive(
    _ step: SSHFault.Step, until deadline: Double, _ timeout: Double, _ call: () -> Int32
  ) throws -> Int32 {
    while true {
      let code = call()
      guard code == LIBSSH2_ERROR_EAGAIN else { return code }
      try wait(step, until: deadline, timeout)
    }
  }

  func wait(_ step: SSHFault.Step, until deadline: Double, _ timeout: Double) throws {
    guard SystemClock.uptime < deadline else { throw SSHFault.timedOut(step, seconds: timeout) }
    try wait(seconds: min(1, deadline - SystemClock.uptime))
  }

  /// Waits for what libssh2 waits for.
  ///
  /// - Parameter onlySends: what has come is not read before our packet is sent.
  func wait(seconds: Double, onlySends: Bool = false) throws {
    let events = (onlySends ? 0 : Int32(POLLIN)) | (isSendBlocked ? Int32(POLLOUT) : 0)
    _ = try wake.wait(for: socket, events, seconds: seconds)
  }

  /// A packet of ours is only partly sent.
  var isSendBlocked: Bool {
    libssh2_session_block_directions(handle) & LIBSSH2_SESSION_BLOCK_OUTBOUND != 0
  }

  /// The server has ended the connection, or was ended: many codes of libssh2's do not tell that from a refusal.
  var isClosed: Bool {
    var byte: UInt8 = 0
    let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
  }

  /// Libssh2's words for the last failure.
  var message: String {
    var text: UnsafeMutablePointer<CChar>?
    libssh2_session_last_error(handle, &text, nil, 0)
    return text.map { String(cString: $0) } ?? "unknown"
  }
}
