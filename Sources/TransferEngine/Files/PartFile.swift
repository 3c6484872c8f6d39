import CPosix
import Digests
import Glibc
package import JobModel
import Locks

/// The partial file of a download, beside its destination.
package final class PartFile: Sendable {
  package let folder: Folder
  package let name: String
  package let file: OpenFile
  private let disk = Locked(())

  package init(folder: Folder, name: String, file: OpenFile) {
    self.folder = folder
    self.name = name
    self.file = file
  }

  /// Makes the file, or opens what an earlier attempt left.
  static func making(in folder: Folder, named name: String) throws(Failure) -> PartFile {
    guard let file = try folder.part(name, create: true) else {
      throw Failure(.ioError, "`\(folder.path)/\(name)` can't be made")
    }
    return PartFile(folder: folder, name: name, file: file)
  }

  /// `.NAME.TAG.haul-part`, NAME cut so that all fits 255 bytes.
  package static func name(for destination: String, tag: String) -> String {
    let ending = ".\(tag).haul-part"
    var bytes = Array(destination.utf8.prefix(255 - ending.utf8.count - 1))
    while !bytes.isEmpty, String(validating: bytes, as: UTF8.self) == nil { bytes.removeLast() }
    return "." + String(decoding: bytes, as: UTF8.self) + ending
  }

  /// A file up to this size comes in a piece or two, and is written in less time than its space is reserved in.
  private static let unreserved: Int64 = 64 << 10

  /// Reserves the space, so that a full disk shows before a byte is moved.
  package func preallocate(_ size: Int64) throws(Failure) {
    let now = try file.facts().size
    if now > size { try truncate(size) }
    guard size > Self.unreserved else { return }
    let result = haul_allocate(file.descriptor, off_t(size))
    switch result {
    case 0: return
    case EOPNOTSUPP, EINVAL, ENOSYS: try truncate(size)
    default: throw FileFault.failure(result, "reserve \(size) bytes for `\(file.path)`")
    }
  }

  /// Throws `DISK_FULL` where less than `minimum` bytes would be left on the file system once `size` bytes are here.
  func checkSpace(for size: Int64, leaving minimum: Int64) throws(Failure) {
    var space = statvfs()
    guard fstatvfs(file.descriptor, &space) == 0 else {
      throw FileFault.failure(errno, "ask for the space left")
    }
    let status = try file.status()
    let free = Int64(clamping: space.f_bavail).multiplied(clamping: Int64(clamping: space.f_frsize))
    let missing = max(0, size - Int64(status.st_blocks).multiplied(clamping: 512))
    guard free - missing < minimum else { return }
    let reserve = minimum > 0 ? ", of which \(minimum) are to stay free (`disk.min_free`)" : ""
    throw Failure(
      .diskFull,
      "`\(file.path)` needs \(missing) bytes more; the file system has \(free) free ones\(reserve)",
      expected: String(minimum), actual: String(free - missing))
  }

  package func truncate(_ size: Int64) throws(Failure) {
    guard ftruncate(file.descriptor, off_t(size)) == 0 else {
      throw FileFault.failure(errno, "set the size of `\(file.path)`")
    }
  }

  /// Which of the recorded chunks the file still holds, by their CRC-32C, as many at once as the pool is wide.
  func vouched(_ chunks: [ChunkRecord], on pool: BlockingPool) async throws -> [ChunkRecord] {
    try await withThrowingTaskGroup(of: ChunkRecord?.self) { group in
      var (good, rest) = ([ChunkRecord](), chunks[...])
      // A few wait, so that no thread does; a large file has too many chunks for all to.
      for _ in 0..<Self.checksUnderWay {
        guard let chunk = rest.popFirst() else { break }
        group.addTask { try await self.check(chunk, on: pool) }
      }
      while let checked = try await group.next() {
        if let checked { good.append(checked) }
        guard let chunk = rest.popFirst() else { continue }
        group.addTask { try await self.check(chunk, on: pool) }
      }
      return good
    }
  }

  private static let checksUnderWay = 64

  /// From memory as many chunks at once as are asked for, from the disk one after the other: asked for many places at
  /// once, it would read none of them ahead.
  private func readInTurn(
    into block: UnsafeMutableRawBufferPointer, at position: Int64
  ) throws(Failure) -> Int {
    if let count = file.readCached(into: block, at: position) { return count }
    return try disk.withLock { _ throws(Failure) in try file.read(into: block, at: position) }
  }

  private func check(_ chunk: ChunkRecord, on pool: BlockingPool) async throws -> ChunkRecord? {
    try await pool.runAsking { isCancelled in
      var sum = CRC32C()
      let count = try self.file.scan(chunk.range, reading: self.readInTurn) { bytes in
        sum.update(bytes)
        return !isCancelled()
      }
      if isCancelled() { throw CancellationError() }
      return count == chunk.length && Hex.encode(sum.bytes) == chunk.digest ? chunk : nil
    }
  }

  /// Gives the file the time of the finished one; nil leaves it.
  ///
  /// - Parameter mtime: seconds since 1970.
  package func setTime(_ mtime: Double?) throws(Failure) {
    guard let mtime else { return }
    let time = timespec(tv_sec: Int(clamping: mtime), tv_nsec: 0)
    guard futimens(file.descriptor, [time, time]) == 0 else {
      throw FileFault.failure(errno, "set the time of `\(file.path)`")
    }
  }
}
