import Glibc

/// Writing to file descriptors.
package enum Descriptor {
  /// Writes all bytes, however often it takes.
  ///
  /// - Throws: `OutputFileError`, naming `path`.
  package static func write(_ bytes: [UInt8], to descriptor: Int32, path: String) throws(OutputFileError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written >= 0 {
        rest = rest.dropFirst(written)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        // Standard output may have been made non-blocking by whoever shares it.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, -1)
      default: throw OutputFileError(path, errno: errno)
      }
    }
  }
}
