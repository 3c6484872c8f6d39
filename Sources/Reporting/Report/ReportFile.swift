import Glibc
import JobModel

/// Why a report, or an events file, can't be written.
package struct OutputFileError: Error, Sendable, Hashable, CustomStringConvertible {
  package var path: String
  package var detail: String
  /// Nobody reads any more what is written.
  package var isReaderGone: Bool
  /// Its reader was not waited for any longer, as the run was to end.
  package var isGivenUp: Bool
  /// What would be right; nil where nothing is to be said.
  package var advice: String?

  package var description: String {
    "`\(path)` can't be written: \(detail)" + (advice.map { "; " + $0 } ?? "")
  }

  package init(_ path: String, errno code: Int32) {
    self.path = path
    isReaderGone = code == EPIPE
    isGivenUp = code == ETIMEDOUT
    detail = isGivenUp ? "nobody reads it" : String(cString: strerror(code))
    advice =
      switch code {
      case ENOENT, ENOTDIR: "give a path in a folder that exists"
      case EACCES, EPERM, EROFS: "give a path that may be written"
      case EISDIR: "it is a folder: give a file's path"
      case ENOSPC, EDQUOT: "make room there"
      default: nil
      }
  }
}

/// Writes a file whole or not at all: beside its place, synced, then renamed into it.
package enum ReportFile {
  /// - Parameters:
  ///   - isPublic: everybody may read it, whatever the umask is.
  ///   - body: writes the contents to the sink that it is given; when it throws, the file stays as it was.
  /// - Throws: `OutputFileError`, or what `body` throws.
  package static func write(
    _ path: String, isPublic: Bool = false, _ body: (_ sink: @escaping ByteSink) throws -> Void
  ) throws {
    let target = resolved(path)
    if isSpecial(target) {
      // A device or a pipe can't be replaced: it is written to.
      let descriptor = try Descriptor.open(target, O_WRONLY)
      defer { close(descriptor) }
      return try body { bytes in try Descriptor.write(bytes, to: descriptor, path: path) }
    }
    let folder = RelativePath.folder(target)
    let name = RelativePath.baseName(target)
    // 64 random bits: two writers never share a name; 200 bytes of the name leave room for the rest.
    let tag = String(UInt64.random(in: .min ... .max), radix: 36)
    let temporary = folder + "." + String(decoding: name.utf8.prefix(200), as: UTF8.self) + "." + tag + ".tmp"
    // Without a name until it is whole, a kill leaves nothing behind.
    let unnamed = unnamedFile(in: folder)
    let descriptor = unnamed ?? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw OutputFileError(path, errno: errno) }
    do {
      defer { close(descriptor) }
      try body { bytes in try Descriptor.write(bytes, to: descriptor, path: path) }
      guard !isPublic || fchmod(descriptor, 0o644) == 0 else { throw OutputFileError(path, errno: errno) }
      guard fsync(descriptor) == 0 else { throw OutputFileError(path, errno: errno) }
      let isNamed = unnamed.map { linkat(AT_FDCWD, own($0), AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0 }
      guard isNamed ?? true, rename(temporary, target) == 0 else {
        throw OutputFileError(path, errno: errno)
      }
    } catch {
      unlink(temporary)
      throw error
    }
    syncFolder(folder.isEmpty ? "." : folder)
  }

  /// A new file that has no name yet (O_TMPFILE); nil where the file system has none such, or nothing could name it.
  private static func unnamedFile(in folder: String) -> Int32? {
    let flags = O_WRONLY | O_DIRECTORY | 0o20_000_000 | O_CLOEXEC
    let descriptor = open(folder.isEmpty ? "." : folder, flags, 0o644)
    guard descriptor >= 0 else { return nil }
    guard access(own(descriptor), F_OK) == 0 else {
      close(descriptor)
      return nil
    }
    return descriptor
  }

  private static func own(_ descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

  /// Gives a file's bytes to the sink, in blocks.
  ///
  /// - Throws: `OutputFileError` where the file can't be read, or what the sink throws.
  package static func read(_ path: String, into sink: ByteSink) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw OutputFileError(path, errno: errno) }
    defer { close(descriptor) }
    while true {
      var code: Int32 = 0
      let block = [UInt8](unsafeUninitializedCapacity: 1 << 18) { buffer, filled in
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        (filled, code) = count < 0 ? (0, errno) : (count, 0)
      }
      if code == EINTR { continue }
      guard code == 0 else { throw OutputFileError(path, errno: code) }
      if block.isEmpty { return }
      try sink(block)
    }
  }

  /// Follows a link, so that the link stays and its file is replaced.
  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  /// Whether it is a device, a pipe or a socket, links followed: what is written there can't be replaced.
  package static func isSpecial(_ path: String) -> Bool {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return false }
    return [S_IFCHR, S_IFIFO, S_IFSOCK, S_IFBLK].contains(facts.st_mode & S_IFMT)
  }

  private static func syncFolder(_ folder: String) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
