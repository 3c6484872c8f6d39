package import CPosix
import Digests
import Glibc
package import JobModel

/// An open file; closes itself. Reads and writes are at offsets, so that many may go on at once.
package final class OpenFile: Sendable {
  package let descriptor: Int32
  /// For messages.
  package let path: String

  package init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// Opens a file for reading, links followed.
  package static func reading(_ path: String) throws(Failure) -> OpenFile {
    let descriptor = haul_open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0)
    if descriptor < 0 {
      let number = errno
      if number == ENOENT || number == ENOTDIR { throw Failure(.sourceMissing, "`\(path)` does not exist") }
      throw FileFault.failure(number, "open `\(path)`")
    }
    return OpenFile(descriptor: descriptor, path: path)
  }

  /// Size, times and inode; refuses what is not a regular file.
  package func facts() throws(Failure) -> FileFacts { FileFacts(try status()) }

  package func status() throws(Failure) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileFault.failure(errno, "look at `\(path)`") }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw Failure(
        .ioError, "`\(path)` is not a regular file: a folder, a pipe or a device can't be transferred")
    }
    return status
  }

  /// Writes all bytes at an offset.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
    var done = 0
    while done < bytes.count {
      let count = pwrite(
        descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(offset) + done)
      if count < 0 {
        if errno == EINTR { continue }
        throw FileFault.failure(errno, "write `\(path)`")
      }
      guard count > 0 else { throw FileFault.failure(EIO, "write `\(path)`") }
      done += count
    }
  }

  /// Reads into the buffer at an offset; returns fewer bytes only at the end of the file.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Failure) -> Int {
    var done = 0
    while done < buffer.count {
      let count = pread(
        descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset) + done)
      if count < 0 {
        if errno == EINTR { continue }
        throw FileFault.failure(errno, "read `\(path)`")
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// The same, without waiting for the disk: nil where the bytes at the offset are not in memory.
  func readCached(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
    let count = haul_read_cached(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
    return count > 0 ? count : nil
  }

  package func bytes(at offset: Int64, count: Int) throws(Failure) -> [UInt8] {
    guard count > 0 else { return [] }
    var failure: Failure?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(Failure) { filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset) } catch
      {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Calls `body` with the bytes of a range in blocks of at most 240 KiB, until it returns false.
  ///
  /// - Returns: bytes read; fewer than the range's where the file ends before.
  package func scan(_ range: Range<Int64>, _ body: (UnsafeRawBufferPointer) -> Bool) throws(Failure) -> Int64
  {
    try scan(range, reading: read, body)
  }

  /// The same by another way of reading, which takes a buffer and an offset as `read` does.
  package func scan(
    _ range: Range<Int64>, reading: (UnsafeMutableRawBufferPointer, Int64) throws(Failure) -> Int,
    _ body: (UnsafeRawBufferPointer) -> Bool
  ) throws(Failure) -> Int64 {
    // Below what malloc would map, and give back, for each range; and within a core's own cache.
    let size = min(240 << 10, max(1, range.count))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
    defer { buffer.deallocate() }
    var position = range.lowerBound
    while position < range.upperBound {
      let want = min(Int64(size), range.upperBound - position)
      let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(want)])
      let count = try reading(block, position)
      guard count > 0 else { break }
      position += Int64(count)
      guard body(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { break }
    }
    return position - range.lowerBound
  }

  /// Gives a file that is in its place its mode; nil: as the umask has it.
  ///
  /// - Parameter shown: its path for messages, where it was renamed since it was opened.
  package func setMode(_ mode: UInt16?, of shown: String? = nil) throws(Failure) {
    let bits = mode.map { mode_t($0) } ?? (0o666 & ~Self.mask)
    guard fchmod(descriptor, bits) == 0 else {
      throw FileFault.failure(errno, "set the mode of `\(shown ?? path)`")
    }
  }

  /// - Parameter mtime: nanoseconds since 1970.
  package func setTime(_ mtime: Int64) throws(Failure) {
    let (seconds, rest) = mtime.quotientAndRemainder(dividingBy: 1_000_000_000)
    let time = timespec(
      tv_sec: Int(rest < 0 ? seconds - 1 : seconds), tv_nsec: Int(rest < 0 ? rest + 1_000_000_000 : rest))
    guard futimens(descriptor, [time, time]) == 0 else {
      throw FileFault.failure(errno, "set the time of `\(path)`")
    }
  }

  /// The process's umask; reading it means setting it, so it is read once.
  private static let mask: mode_t = {
    let old = umask(0o022)
    umask(old)
    return old
  }()

  /// Syncs data and metadata to disk.
  package func sync() throws(Failure) {
    guard haul_sync(descriptor) == 0 else { throw FileFault.failure(errno, "sync `\(path)`") }
  }
}

extension FileFacts {
  package init(_ status: stat) {
    // Times beyond year 2262 wrap around: two of them still differ, which is all that they are asked for.
    func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
    self.init(
      size: Int64(status.st_size), mtime: nanoseconds(status.st_mtim), ctime: nanoseconds(status.st_ctim),
      inode: UInt64(status.st_ino))
  }
}
