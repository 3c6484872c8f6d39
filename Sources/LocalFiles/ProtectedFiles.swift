import CPosix
import Glibc

/// Files that no download replaces, whatever path leads to them.
package struct ProtectedFiles: Sendable {
  private struct Identity: Hashable {
    let device: UInt64
    let inode: UInt64

    init(_ status: stat) { (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino)) }
  }
  private var files: Set<Identity> = []

  /// - Parameter paths: those that lead nowhere do not count.
  package init(_ paths: [String] = []) {
    for path in paths {
      var status = stat()
      if stat(path, &status) == 0 { files.insert(Identity(status)) }
    }
  }

  /// False where a file with this inode is none of them.
  package func mayContain(inode: UInt64) -> Bool { files.contains { $0.inode == inode } }

  /// Whether the file of this name is one of them.
  package func contains(_ name: String, in folder: Folder) -> Bool {
    var status = stat()
    guard !files.isEmpty, fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      return false
    }
    return files.contains(Identity(status))
  }
}
