import CPosix
import Glibc
package import JobModel
import Locks

/// What tells a folder from all others, whatever path leads to it.
package struct FolderIdentity: Hashable {
  package let device: UInt64
  package let inode: UInt64

  package init(_ descriptor: Int32) {
    var status = stat()
    (device, inode) =
      fstat(descriptor, &status) == 0 ? (UInt64(status.st_dev), UInt64(status.st_ino)) : (0, 0)
  }
}

/// Folders in which no transfer writes: haul's own state.
package struct ProtectedFolders: Sendable {
  private let folders: Set<FolderIdentity>
  /// A path that stays below the job's folder may lead into one of them.
  private let areReachable: Bool
  /// The folder that was last found to lie in none of them, and when, in seconds of the monotonic clock.
  private let outside = Locked<(folder: FolderIdentity, at: Int)?>(nil)

  package init() {
    folders = []
    areReachable = false
  }

  /// - Parameters:
  ///   - root: the folder of all jobs' state.
  ///   - jobs: the folders in it that hold a job's state. Where the manifest lies in the root as well, these are
  ///     protected, and the rest of the root is not.
  ///   - home: the manifest's folder.
  package init(root: String, jobs: [String], home: Folder) {
    func identities(_ paths: [String]) -> Set<FolderIdentity> {
      Set(paths.compactMap { try? Folder.open($0).identity })
    }
    let whole = identities([root])
    folders = Self.lies(home.descriptor, in: whole) ? identities(jobs) : whole
    let states = ([root] + jobs).compactMap { try? Folder.open($0) }
    areReachable =
      Self.lies(home.descriptor, in: folders)
      || states.contains { Self.lies($0.descriptor, in: [home.identity]) }
  }

  /// Refuses a folder that is one of them or lies below one.
  ///
  /// - Parameters:
  ///   - shown: its path, for the message.
  ///   - beneath: it was opened by a path that can't leave the job's folder.
  package func check(_ descriptor: Int32, _ shown: String, beneath: Bool) throws(Failure) {
    guard areReachable || !beneath, !folders.isEmpty else { return }
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    // Many small files come into one folder in a second: the way up costs more than all else that is asked of it.
    let found = (folder: FolderIdentity(descriptor), at: time.tv_sec)
    guard outside.withLock({ $0.map { $0 != found } ?? true }) else { return }
    guard !Self.lies(descriptor, in: folders) else {
      throw Failure(
        .permissionDenied, "`\(shown)` lies in the folder of haul's own state, where no transfer may write")
    }
    outside.withLock { $0 = found }
  }

  /// Goes up from a folder to the root of the file systems.
  private static func lies(_ descriptor: Int32, in folders: Set<FolderIdentity>) -> Bool {
    var (current, here) = (dup(descriptor), FolderIdentity(descriptor))
    defer { if current >= 0 { close(current) } }
    while current >= 0 {
      if folders.contains(here) { return true }
      let parent = haul_open_at(current, "..", O_PATH | O_DIRECTORY, 0)
      let above = FolderIdentity(parent)
      close(current)
      current = parent
      if above == here { return false }
      here = above
    }
    return false
  }
}
