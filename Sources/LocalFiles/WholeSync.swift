import CPosix
import Glibc
import JobModel
import Synchronization

/// Syncs a file system whole, and can tell whether that proves each of its files.
///
/// syncfs(2) reports what could not be written since the descriptor was opened, from Linux 5.8 on, on file systems that
/// keep count of it; so it proves only what was written since then, and an error ends the trust in it: which file it
/// was about only their own syncs tell.
package final class WholeSync: Sendable {
  private let folder: Folder
  private let device: UInt64
  /// Seconds since 1970.
  private let openedAt: Double
  private let isTrusted: Atomic<Bool>
  /// statfs(2): ext2 to ext4, XFS, btrfs.
  private static let known: Set<Int> = [0xEF53, 0x5846_5342, 0x9123_683E]

  /// - Parameter folder: any on the file system.
  package init(_ folder: Folder, now: Double) {
    openedAt = now
    let own = (try? Folder.open(folder.path)) ?? folder
    var (space, status) = (statfs(), stat())
    let isKnown =
      fstatfs(own.descriptor, &space) == 0 && fstat(own.descriptor, &status) == 0
      && Self.known.contains(Int(space.f_type)) && own !== folder && Self.reportsErrors
    self.folder = own
    device = UInt64(status.st_dev)
    isTrusted = Atomic(isKnown)
  }

  /// Writes what waits, of all programs.
  ///
  /// - Returns: the device whose files, as far as they were written before, are now all on the disk; nil where that is
  ///   not known.
  package func sync() -> UInt64? {
    guard isTrusted.load(ordering: .acquiring), DirtyPages.areFew else { return nil }
    var space = statvfs()
    // A file system that an error has made read-only says 0, and writes nothing.
    guard syncfs(folder.descriptor) == 0, fstatvfs(folder.descriptor, &space) == 0,
      space.f_flag & UInt(ST_RDONLY) == 0
    else {
      isTrusted.store(false, ordering: .releasing)
      return nil
    }
    return device
  }

  /// All its bytes were written since: none was there before, or is of another process.
  package func covers(completedAt: Double, reused: Int64) -> Bool { completedAt >= openedAt && reused == 0 }

  private static var reportsErrors: Bool {
    var name = utsname()
    guard uname(&name) == 0 else { return false }
    let release = withUnsafeBytes(of: &name.release) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    return reportsErrors(release)
  }

  /// Of a kernel's release, such as `6.1.0-18-amd64`.
  static func reportsErrors(_ release: String) -> Bool {
    let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
    guard numbers.count == 2 else { return false }
    return (numbers[0], numbers[1]) >= (5, 8)
  }
}
