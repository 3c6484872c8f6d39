import Glibc
import Posix

/// A file read in blocks, that is open only while a block is read: thousands of them are read side by side.
struct ReopenedFile {
  private struct Identity: Hashable {
    var device: UInt64
    var inode: UInt64
    var size: Int64
    var seconds: Int
    var nanoseconds: Int

    init(_ status: stat) {
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
      size = Int64(status.st_size)
      (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }
  }

  let path: String
  private let identity: Identity

  /// - Throws: `MergeFault` where there is none that can be read twice.
  init(_ path: String) throws(MergeFault) {
    self.path = path
    guard path != "-" else {
      throw Self.fault(path, "each report is read twice, and standard input can't be")
    }
    var status = stat()
    guard stat(path, &status) == 0 else { throw Self.fault(path, "\(SystemError())") }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw Self.fault(path, "it is not a regular file, and each report is read twice")
    }
    identity = Identity(status)
  }

  /// A block from `offset` on; empty at the end.
  func read(at offset: Int64, count: Int) throws(MergeFault) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.fault(path, "\(SystemError())") }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, Identity(status) == identity else {
      throw Self.fault(path, "it changed while it was read")
    }
    guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw Self.fault(path, "\(SystemError())") }
    do throws(SystemError) { return try Files.read(descriptor, upTo: count) } catch {
      throw Self.fault(path, "\(error)")
    }
  }

  private static func fault(_ path: String, _ why: String) -> MergeFault {
    MergeFault(.unreadable, "`\(path)` can't be read: \(why)")
  }
}
