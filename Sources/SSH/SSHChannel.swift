import CSSH2
import Glibc

/// One channel of a session. Owns libssh2's channel; keeps its session. Used on one thread.
final class SSHChannel {
  /// Bytes that the server may send before we say that they were read: the bandwidth of a far line.
  static let window: UInt32 = 16 << 20
  static let packet: UInt32 = 32_768

  private let handle: OpaquePointer
  private let session: SSHSession

  init(_ handle: OpaquePointer, of session: SSHSession) { (self.handle, self.session) = (handle, session) }

  deinit {
    // What can't be sent now is freed with the session.
    var left = 16
    while left > 0, libssh2_channel_free(handle) == LIBSSH2_ERROR_EAGAIN { left -= 1 }
  }

  /// The server takes more.
  var hasRoom: Bool { libssh2_channel_window_write_ex(handle, nil) > 0 }

  /// - Returns: how many bytes; nil where none is there now.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
    let bytes = buffer.assumingMemoryBound(to: CChar.self)
    let count = libssh2_channel_read_ex(handle, 0, bytes.baseAddress, bytes.count)
    if count > 0 { return count }
    if count == Int(LIBSSH2_ERROR_EAGAIN) { return nil }
    guard count == 0 else { throw SSHFault.broken(session.message) }
    guard libssh2_channel_eof(handle) == 0 else {
      throw SSHFault.broken("the server closed the connection")
    }
    // What it says on its standard error is not asked for, and would stand in the window.
    let words = libssh2_channel_read_ex(
      handle, Int32(SSH_EXTENDED_DATA_STDERR), bytes.baseAddress, bytes.count)
    guard words >= 0 || words == Int(LIBSSH2_ERROR_EAGAIN) else { throw SSHFault.broken(session.message) }
    return nil
  }

  /// - Returns: how many bytes were taken; nil where the same bytes are to be given again later.
  func write(_ bytes: UnsafeRawBufferPointer) throws -> Int? {
    let text = bytes.assumingMemoryBound(to: CChar.self)
    let count = libssh2_channel_write_ex(handle, 0, text.baseAddress, text.count)
    if count > 0 { return count }
    guard count == 0 || count == Int(LIBSSH2_ERROR_EAGAIN) else { throw SSHFault.broken(session.message) }
    return nil
  }
}
