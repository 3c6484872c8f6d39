import Glibc

/// What tells one version of a file from another without reading it: inode, size, mtime.
struct FileIdentity: Hashable, Sendable {
  var device: UInt64
  var inode: UInt64
  var size: Int
  var modifiedSeconds: Int
  var modifiedNanoseconds: Int

  /// Nil where the descriptor is not a regular file's.
  init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int(status.st_size)
    modifiedSeconds = status.st_mtim.tv_sec
    modifiedNanoseconds = status.st_mtim.tv_nsec
  }

  /// A strong entity tag.
  var etag: String { "\"\(key)\"" }

  /// Names this version in the digest cache. Without the device: its number may change at a reboot.
  var key: String {
    let time = UInt64(bitPattern: Int64(modifiedSeconds &* 1_000_000_000 &+ modifiedNanoseconds))
    return [inode, UInt64(size), time].map { String($0, radix: 16) }.joined(separator: "-")
  }

  /// So recently changed that another change could carry the same time stamp (the kernel's tick is 4 ms or so).
  var isFresh: Bool {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let age = (now.tv_sec - modifiedSeconds) * 1_000_000_000 + now.tv_nsec - modifiedNanoseconds
    return age < 50_000_000
  }
}
