package import CPosix
import Glibc
package import JobModel

/// Part files in a folder: made anew, found again, removed, and never mistaken for somebody else's.
extension Folder {
  /// What lies where a part file is on record.
  package enum FoundPart {
    case part(PartFile)
    case nothing
    /// Another file, made there since.
    case another
    /// The recorded one, which has a second name by now: a snapshot by hard links.
    case linked
    /// Another process works on it.
    case locked
  }

  /// Makes a part file, mode 0600, locked.
  ///
  /// - Returns: nil where the name is taken.
  func makingPart(_ name: String, tag: String) throws(Failure) -> PartFile? {
    let descriptor = haul_open_at(self.descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      if errno == EEXIST { return nil }
      throw FileFault.failure(errno, "make `\(path)/\(name)`")
    }
    let file = OpenFile(descriptor: descriptor, path: path + "/" + name)
    _ = file.lock()
    return PartFile(folder: self, name: name, file: file, record: record(try file.status(), tag: tag))
  }

  /// Opens the part file that is on record.
  ///
  /// - Parameters:
  ///   - record: nil where a version that kept none left the file; it is its owner's all the same.
  ///   - tag: of its name.
  /// - Throws: `IO_ERROR` where a link, another user's file or the like has its name.
  package func part(_ name: String, record known: PartRecord?, tag: String) throws(Failure) -> FoundPart {
    let descriptor = haul_open_at(self.descriptor, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0)
    let shown = path + "/" + name
    guard descriptor >= 0 else {
      if errno == ENOENT { return .nothing }
      // A link or a folder in its place is somebody else's: it is not followed and not removed.
      if errno == ELOOP {
        throw Failure(.ioError, "`\(shown)` is a symbolic link; haul does not write through it")
      }
      throw FileFault.failure(errno, "open `\(shown)`")
    }
    let file = OpenFile(descriptor: descriptor, path: shown)
    let status = try file.status()
    guard status.st_nlink == 1 else {
      if let known, known.inode == UInt64(status.st_ino), known.folder == identity.inode { return .linked }
      throw Failure(.ioError, "`\(shown)` is known by another name as well; haul does not write into it")
    }
    let owner = UInt32(status.st_uid)
    guard owner == known?.owner || owner == geteuid() else {
      throw Failure(.ioError, "`\(shown)` belongs to another user; haul does not write into it")
    }
    let found = record(status, tag: tag)
    if let known, known.inode != found.inode, known.folder == found.folder { return .another }
    guard file.lock() else { return .locked }
    // It holds unverified bytes, perhaps secret ones.
    if status.st_mode & 0o7777 != 0o600 { fchmod(descriptor, 0o600) }
    return .part(PartFile(folder: self, name: name, file: file, record: found))
  }

  /// Removes a part file that nobody works on: a regular file of this user with one name, and the recorded one where
  /// one is on record.
  ///
  /// - Returns: whether it is gone.
  @discardableResult
  package func removePart(_ name: String, record: PartRecord?) -> Bool {
    guard isLeftPart(name, record: record) else { return false }
    return unlinkat(descriptor, name, 0) == 0
  }

  /// Whether such a file lies here.
  package func isLeftPart(_ name: String, record known: PartRecord?) -> Bool {
    guard let seen = status(name), seen.st_mode & S_IFMT == S_IFREG,
      case .part(let part)? = try? part(name, record: known, tag: "")
    else { return false }
    return part.isInPlace
  }

  /// What a name here stands for; nil where there is nothing.
  package func status(_ name: String) -> stat? {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  private func record(_ status: stat, tag: String) -> PartRecord {
    PartRecord(
      tag: tag, inode: UInt64(status.st_ino), folder: identity.inode, owner: UInt32(status.st_uid))
  }
}

extension OpenFile {
  /// Locks the file (flock(2)); the lock ends with the descriptor. A file system that can't lock does not stop the
  /// work: the file's name is known to nobody else.
  ///
  /// - Returns: false where another process has locked it.
  package func lock() -> Bool {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EINTR { continue }
      return errno != EWOULDBLOCK
    }
    return true
  }
}
