import Glibc

/// A file in `TMPDIR`, or in `/tmp` where that is not set or can't be written, without a name: it ends with the value, or
/// the process.
package final class ScratchFile: Sendable {
  private let descriptor: Int32

  package convenience init() throws(SystemError) {
    try self.init(in: getenv("TMPDIR").map { String(cString: $0) } ?? "")
  }

  init(in folder: String) throws(SystemError) {
    let name = "/haul-" + String(UInt64.random(in: .min ... .max), radix: 36)
    var opened: Int32 = -1
    for folder in [folder, "/tmp"] where opened < 0 && !folder.isEmpty {
      opened = open(folder + name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if opened >= 0 { unlink(folder + name) }
    }
    guard opened >= 0 else { throw SystemError() }
    descriptor = opened
  }

  deinit { close(descriptor) }

  package func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        pwrite(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, offset + done)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemError() }
      done += count
    }
  }

  /// - Returns: fewer bytes at the end of the file.
  package func read(at offset: Int, count: Int) throws(SystemError) -> [UInt8] {
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let read = pread(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, offset + filled)
        if read < 0, errno == EINTR { continue }
        if read < 0 { code = errno }
        guard read > 0 else { return }
        filled += read
      }
    }
    guard code == 0 else { throw SystemError(code) }
    return bytes
  }
}
