import FoundationEssentials
import Glibc

/// Turns a complete session's data into an immutable object and a file under its name.
///
/// Every step can be repeated, and the session's record says "finished" only after the last: a kill at any instant
/// is settled by the next finalize.
struct Publisher: Sendable {
  let root: FileRoot
  let objects: ObjectStore
  let digests: DigestCache
  let pool: BlockingPool

  func publish(_ session: UploadSession, _ digest: [UInt8]) async throws -> SessionRecord {
    try await pool.run {
      let record = session.record
      let identity: FileIdentity
      do {
        identity = try self.store(session, record)
        try self.land(record)
        try self.describe(record, digest)
      } catch {
        // Nobody was given its id, and another finalize makes it anew.
        Disk.removeFolder(self.objects.folder(of: record.remoteFileId))
        throw error
      }
      let finished = try session.state.withLock { state in
        state.record.finishedSha256 = Hex.encode(digest)
        try state.record.save(in: session.folder)
        return state.record
      }
      unlink(session.dataFile)
      self.digests.record(digest, for: identity)
      return finished
    }
  }

  /// Syncs the data and gives it its id.
  private func store(_ session: UploadSession, _ record: SessionRecord) throws -> FileIdentity {
    let descriptor = open(session.dataFile, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("open \(session.dataFile)") }
    defer { close(descriptor) }
    guard let identity = FileIdentity(descriptor: descriptor), identity.size == record.fileSize else {
      throw Problem(422, "INTEGRITY_MISMATCH", "the stored data has not the size that was promised")
    }
    guard fdatasync(descriptor) == 0 else { throw SystemError("sync \(session.dataFile)") }
    // The named file shares these bytes with the object: nobody is to write into them.
    fchmod(descriptor, 0o444)
    let folder = objects.folder(of: record.remoteFileId)
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw SystemError("create \(folder)") }
    guard link(session.dataFile, folder + "/data") == 0 || errno == EEXIST else {
      throw SystemError("link \(folder)/data")
    }
    Disk.sync(folder: folder)
    Disk.sync(folder: objects.folder)
    return identity
  }

  /// From here on the object is served: it has its name.
  private func describe(_ record: SessionRecord, _ digest: [UInt8]) throws {
    let folder = objects.folder(of: record.remoteFileId)
    let meta = ObjectStore.Meta(
      fileName: record.fileName, size: record.fileSize, sha256: Hex.encode(digest), mimeType: record.mimeType)
    try Disk.replace(folder + "/meta.json", with: Array(try JSONEncoder().encode(meta)))
    Disk.sync(folder: folder)
  }

  /// Puts the object under its name: a second link, renamed over whatever has the name.
  private func land(_ record: SessionRecord) throws {
    guard let path = RootPath(fileName: record.fileName) else {
      throw Problem(400, "BAD_FILE_NAME", "\(record.fileName) can't be a file's name here")
    }
    let folder = try makeFolders(path, record.fileName)
    defer { close(folder) }
    // Beside the object, where a kill leaves nothing that is served and the next start finds it.
    let named = objects.folder(of: record.remoteFileId) + "/named"
    let data = objects.folder(of: record.remoteFileId) + "/data"
    unlink(named)
    guard link(data, named) == 0 else { throw SystemError("link \(data)") }
    // rename(2) does nothing where both names are the same file already, and then leaves this one.
    defer { unlink(named) }
    guard renameat(AT_FDCWD, named, folder, path.name) != 0 else {
      fsync(folder)
      return
    }
    guard errno == EXDEV else { throw Self.nameError(record.fileName) }
    // A folder on another file system.
    let temporary = ".depot-\(record.remoteFileId).tmp"
    unlinkat(folder, temporary, 0)
    defer { unlinkat(folder, temporary, 0) }
    try copy(data, to: folder, temporary)
    guard renameat(folder, temporary, folder, path.name) == 0 else { throw Self.nameError(record.fileName) }
    fsync(folder)
  }

  /// Opens the folder that the file goes to, creating what is missing. Symbolic links are not followed.
  private func makeFolders(_ path: RootPath, _ name: String) throws -> Int32 {
    var folder = dup(root.descriptor)
    guard folder >= 0 else { throw SystemError("open the root") }
    for segment in path.segments.dropLast() {
      let component = segment.map { CChar(bitPattern: $0) } + [0]
      let isMade = mkdirat(folder, component, 0o755) == 0
      let reason = errno
      if isMade { fsync(folder) }
      let next = openat(folder, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      // What is not there could not be made.
      if next < 0, errno == ENOENT { errno = reason }
      let error: (any Error)? = next < 0 ? Self.nameError(name) : nil
      close(folder)
      if let error { throw error }
      folder = next
    }
    return folder
  }

  /// Why an upload can't have its name, by `errno`.
  static func nameError(_ name: String) -> any Error {
    guard [EISDIR, ENOTEMPTY, EEXIST, ENOTDIR, ELOOP].contains(errno) else {
      return SystemError("give the upload its name \(name)")
    }
    return Problem(
      409, "NAME_CONFLICT", "\(name) can't be written: a folder has the name, or a file that of its folder")
  }

  /// For a folder on another file system, where no link can be made.
  private func copy(_ source: String, to folder: Int32, _ name: String) throws {
    let input = open(source, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else { throw SystemError("open \(source)") }
    defer { close(input) }
    let output = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o444)
    guard output >= 0 else { throw SystemError("create \(name)") }
    defer { close(output) }
    while true {
      let count = sendfile(output, input, nil, 1 << 24)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw SystemError("copy the upload to its folder") }
      if count == 0 { break }
    }
    guard fdatasync(output) == 0 else { throw SystemError("sync \(name)") }
  }
}
