import CPosix
import Glibc
package import JobModel

/// An open folder, and what is done below it: never through a link that leads out of the job's folder.
package final class Folder: Sendable {
  package let descriptor: Int32
  package let path: String
  /// What tells the folder from all others.
  package let identity: FolderIdentity
  /// The path from the folder that it was opened from; nil where it was opened by itself.
  private let relative: String?

  private init(descriptor: Int32, path: String, relative: String? = nil) {
    self.descriptor = descriptor
    self.path = path
    self.relative = relative
    identity = FolderIdentity(descriptor)
  }

  deinit { close(descriptor) }

  package static func open(_ path: String) throws(Failure) -> Folder {
    let descriptor = haul_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0)
    guard descriptor >= 0 else { throw FileFault.failure(errno, "open the folder `\(path)`") }
    return Folder(descriptor: descriptor, path: path)
  }

  /// Opens a folder below this one, and makes what is missing of it.
  ///
  /// - Parameters:
  ///   - beneath: refuse a way out by `..`, an absolute path or a link.
  ///   - protected: refuse what lies in one of them, before anything is made there.
  package func making(
    _ relative: String, beneath: Bool, sparing protected: ProtectedFolders = ProtectedFolders()
  ) throws(Failure) -> Folder {
    let shown = shown(relative)
    var opened = openFolder(relative, beneath)
    if opened < 0, errno == ENOENT {
      var prefix = RelativePath.isAbsolute(relative) ? "/" : ""
      for part in relative.utf8.split(separator: UInt8(ascii: "/")).map({ Substring($0) }) {
        let next = prefix.isEmpty || prefix.utf8.last == 0x2F ? prefix + part : prefix + "/" + part
        if openable(next, beneath) == false {
          let parent = openFolder(prefix, beneath)
          guard parent >= 0 else { throw failure(errno, shown) }
          defer { close(parent) }
          try protected.check(parent, shown, beneath: beneath)
          if mkdirat(parent, String(part), 0o777) != 0, errno != EEXIST {
            throw FileFault.failure(errno, "make the folder `\(shown)`")
          }
        }
        prefix = next
      }
      opened = openFolder(relative, beneath)
    }
    guard opened >= 0 else { throw failure(errno, shown) }
    let folder = Folder(descriptor: opened, path: shown, relative: relative)
    try protected.check(opened, shown, beneath: beneath)
    return folder
  }

  /// Opens a folder below this one; nil where it is not there, or not to be entered.
  package func existing(_ relative: String, beneath: Bool) -> Folder? {
    let opened = openFolder(relative, beneath)
    return opened < 0 ? nil : Folder(descriptor: opened, path: shown(relative), relative: relative)
  }

  /// Refuses a folder below this one that is no longer what its path leads to: it was moved, replaced or unmounted.
  package func expect(_ opened: Folder, beneath: Bool) throws(Failure) {
    guard let path = opened.relative else { return }
    let now = openFolder(path, beneath)
    defer { if now >= 0 { close(now) } }
    guard now >= 0, FolderIdentity(now) == opened.identity
    else {
      throw Failure(
        .ioError,
        "the folder `\(opened.path)` is no longer the one that the download began in: it was moved, replaced or unmounted"
      )
    }
  }

  /// A file system, by what a plan must know of it.
  package struct FileSystem {
    /// What tells it from others, also after it was mounted again.
    package let id: Int64
    /// Bytes that may still be written; none where it is read-only.
    package let free: Int64
  }

  /// The file system that this folder is on.
  package func fileSystem() throws(Failure) -> FileSystem {
    var space = statvfs()
    guard fstatvfs(descriptor, &space) == 0 else {
      throw FileFault.failure(errno, "ask for the file system of `\(path)`")
    }
    let isReadOnly = space.f_flag & UInt(ST_RDONLY) != 0
    return FileSystem(
      id: Int64(bitPattern: UInt64(space.f_fsid)),
      free: isReadOnly
        ? 0 : Int64(clamping: space.f_bavail).multiplied(clamping: Int64(clamping: space.f_frsize)))
  }

  /// Whether a file can be made here, as far as the folder's mode says.
  package var takesFiles: Bool { faccessat(descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0 }

  /// Facts of a file here; nil where there is none.
  package func facts(_ name: String) throws(Failure) -> FileFacts? {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return nil }
      throw FileFault.failure(errno, "look at `\(path)/\(name)`")
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      let what =
        switch status.st_mode & S_IFMT {
        case S_IFDIR: "a folder"
        case S_IFLNK: "a symbolic link, which haul neither follows nor replaces"
        default: "not a regular file"
        }
      throw Failure(.ioError, "the destination `\(path)/\(name)` is \(what)")
    }
    return FileFacts(status)
  }

  /// Whether something else than a regular file has the name.
  package func holdsOther(_ name: String) -> Bool {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT != S_IFREG
  }

  package func reading(_ name: String) throws(Failure) -> OpenFile {
    let descriptor = haul_open_at(self.descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    guard descriptor >= 0 else { throw FileFault.failure(errno, "open `\(path)/\(name)`") }
    return OpenFile(descriptor: descriptor, path: path + "/" + name)
  }

  /// Renames within the folder.
  ///
  /// - Parameter keepingOld: fail with `DESTINATION_EXISTS` where the name is taken.
  package func rename(_ old: String, to name: String, keepingOld: Bool) throws(Failure) {
    guard haul_rename(descriptor, old, descriptor, name, keepingOld ? 1 : 0) != 0 else { return }
    let number = errno
    if number == EEXIST { throw Failure(.destinationExists, "`\(path)/\(name)` exists already") }
    if number == EINVAL, keepingOld {
      // A file system without RENAME_NOREPLACE: a hard link refuses a taken name as well.
      guard linkat(descriptor, old, descriptor, name, 0) == 0 else {
        if errno == EEXIST { throw Failure(.destinationExists, "`\(path)/\(name)` exists already") }
        throw FileFault.failure(errno, "rename to `\(path)/\(name)`")
      }
      unlinkat(descriptor, old, 0)
      return
    }
    throw FileFault.failure(number, "rename to `\(path)/\(name)`")
  }

  /// Moves a file to another folder, where both lie on one file system; it stays where it is otherwise.
  package func move(_ name: String, to other: String, in folder: Folder) {
    renameat(descriptor, name, folder.descriptor, other)
  }

  package func remove(_ name: String) { unlinkat(descriptor, name, 0) }

  /// Does what no two processes may do in one folder at a time (flock(2)); on a file system that can't lock, at once.
  ///
  /// - Throws: `IO_ERROR` where another process keeps the lock for five seconds: whoever may read the folder may take it.
  package func alone<Value>(_ work: () throws -> Value) throws -> Value {
    var tries = 0
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EINTR { continue }
      guard errno == EWOULDBLOCK else { return try work() }
      guard tries < 5000 else {
        throw Failure(
          .ioError, "another process keeps the folder `\(path)` locked (flock): end it (`lslocks` names it)")
      }
      tries += 1
      usleep(1000)
    }
    defer { flock(descriptor, LOCK_UN) }
    return try work()
  }

  /// Syncs the folder's entries to disk.
  ///
  /// - Parameter device: what is on it is on the disk already.
  package func sync(but device: UInt64? = nil) throws(Failure) {
    var status = stat()
    if let device, fstat(descriptor, &status) == 0, UInt64(status.st_dev) == device { return }
    guard haul_sync(descriptor) == 0 else { throw FileFault.failure(errno, "sync the folder `\(path)`") }
  }

  /// Opens what a path from here leads to, for syncing and reading alone; nil where it leads to no folder.
  ///
  /// - Parameter beneath: refuse a way out by `..`, an absolute path or a link.
  /// - Throws: `Failure`, or `PassingFault`.
  package func opening(_ relative: String, beneath: Bool = false) throws -> Folder? {
    let opened = openFolder(relative, beneath)
    let (number, shown) = (errno, shown(relative))
    if opened < 0 {
      if [ENOENT, ENOTDIR, ELOOP].contains(number) { return nil }
      try FileFault.checkPassing(number, "open the folder `\(shown)`")
      throw FileFault.failure(number, "open the folder `\(shown)`")
    }
    return Folder(descriptor: opened, path: shown, relative: relative)
  }

  /// Syncs a file here, data and metadata.
  ///
  /// - Parameter device: what is on it is on the disk already.
  /// - Returns: false where the name is not that file's any more.
  /// - Throws: `Failure`, or `PassingFault`.
  package func sync(_ name: String, inode: UInt64?, but device: UInt64? = nil) throws -> Bool {
    var status = stat()
    if let device, let inode, fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
      UInt64(status.st_dev) == device, UInt64(status.st_ino) == inode
    {
      return true
    }
    var opened: Int32 = -1
    // Its mode may let the owner write it only.
    for mode in [O_RDONLY, O_WRONLY] {
      opened = haul_open_at(descriptor, name, mode | O_NOFOLLOW | O_NONBLOCK, 0)
      if opened >= 0 { break }
      let number = errno
      if [ENOENT, ELOOP, EISDIR, ENXIO].contains(number) { return false }
      guard number == EACCES, mode == O_RDONLY else {
        try FileFault.checkPassing(number, "open `\(path)/\(name)` to sync it")
        throw FileFault.failure(number, "open `\(path)/\(name)` to sync it")
      }
    }
    let file = OpenFile(descriptor: opened, path: path + "/" + name)
    guard fstat(opened, &status) == 0 else { throw FileFault.failure(errno, "look at `\(file.path)`") }
    guard inode == nil || UInt64(status.st_ino) == inode else { return false }
    try file.sync()
    return true
  }

  /// What a path from here is called in messages.
  private func shown(_ relative: String) -> String {
    relative.isEmpty ? path : RelativePath.isAbsolute(relative) ? relative : path + "/" + relative
  }

  private func openFolder(_ relative: String, _ beneath: Bool) -> Int32 {
    let (wanted, flags) = (relative.isEmpty ? "." : relative, O_RDONLY | O_DIRECTORY)
    return beneath
      ? haul_open_beneath(descriptor, wanted, flags, 0) : haul_open_at(descriptor, wanted, flags, 0)
  }

  private func openable(_ relative: String, _ beneath: Bool) -> Bool {
    let opened = openFolder(relative, beneath)
    if opened >= 0 { close(opened) }
    return opened >= 0
  }

  private func failure(_ number: Int32, _ shown: String) -> Failure {
    switch number {
    case EXDEV, ELOOP:
      Failure(.permissionDenied, "`\(shown)` leads out of the job's folder (`allow_outside` would allow it)")
    case ENOTDIR: Failure(.ioError, "`\(shown)`: a part of the path is not a folder")
    default: FileFault.failure(number, "open the folder `\(shown)`")
    }
  }
}
