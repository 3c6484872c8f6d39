import CPosix
import Digests
import Glibc
package import JobModel
import Locks

/// The partial file of a download, beside its destination: open, locked, and proved to be this download's own.
package final class PartFile: Sendable {
  package let folder: Folder
  package let name: String
  package let file: OpenFile
  /// What is put on record of it.
  package let record: PartRecord
  private let disk = Locked(())

  package init(folder: Folder, name: String, file: OpenFile, record: PartRecord) {
    self.folder = folder
    self.name = name
    self.file = file
    self.record = record
  }

  /// Makes the file anew. What an earlier attempt left under the name is removed; where somebody else has the name,
  /// the file gets another one.
  ///
  /// - Parameter tag: the transfer's.
  package static func making(in folder: Folder, for destination: String, tag: String) throws(Failure)
    -> PartFile
  {
    var tag = tag
    for _ in 0..<mostNames {
      let name = PartName.of(destination, tag: tag)
      if let made = try folder.makingPart(name, tag: tag) { return made }
      guard !folder.removePart(name, record: nil) else { continue }
      tag = PartName.random()
    }
    throw Failure(
      .ioError, "no part file for `\(folder.path)/\(destination)` can be made: each name is taken")
  }

  private static let mostNames = 4

  /// Its name still leads to this file, and to no other.
  var isInPlace: Bool {
    guard let status = folder.status(name) else { return false }
    return UInt64(status.st_ino) == record.inode && status.st_nlink == 1
      && UInt32(status.st_uid) == record.owner
  }

  /// Refuses to go on with a file that somebody else has replaced.
  package func expectInPlace() throws(Failure) {
    guard !isInPlace else { return }
    throw Failure(
      .ioError,
      "the part file `\(file.path)` is no longer the one that was written: somebody else replaced it")
  }

  /// Removes the file, unless its name leads to another one by now.
  package func discard() {
    if isInPlace { folder.remove(name) }
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
  package func checkSpace(for size: Int64, leaving minimum: Int64) throws(Failure) {
    var space = statvfs()
    guard fstatvfs(file.descriptor, &space) == 0 else {
      throw FileFault.failure(errno, "ask for the space left for `\(file.path)`")
    }
    let free = Int64(clamping: space.f_bavail).multiplied(clamping: Int64(clamping: space.f_frsize))
    if free - size >= minimum { return }
    let missing = max(0, size - Int64(try file.status().st_blocks).multiplied(clamping: 512))
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
  package func vouched(_ chunks: [ChunkRecord], on pool: BlockingPool) async throws -> [ChunkRecord] {
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
  /// - Parameter mtime: nanoseconds since 1970.
  package func setTime(_ mtime: Int64?) throws(Failure) { if let mtime { try file.setTime(mtime) } }
}
