import JobModel
import LocalFiles

/// A small file that comes in one piece, in memory until it has passed its checks: it is made on the ledger's thread, just
/// before its intent is committed, so that the network thread waits for no file system.
///
/// Used by one thread at a time, hence sendable: by the ledger's while the download waits for it, else by the transport's.
final class InMemoryFile: @unchecked Sendable {
  /// As many as a run works on at once (288, `TransferEngine.room`) hold 4.5 MiB at most.
  static let limit: Int64 = 16 << 10

  private(set) var bytes: [UInt8] = []
  /// What it has become.
  private(set) var made: (part: PartFile, inode: UInt64)?

  init(size: Int64) { bytes.reserveCapacity(Int(size)) }

  func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

  /// Writes all of it to a part file that was made for it.
  func write(to part: PartFile) throws(Failure) {
    var failure: Failure?
    bytes.withUnsafeBytes { all in
      do throws(Failure) { try part.file.write(all, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Makes the part file; nothing is left where that fails.
  ///
  /// - Parameters:
  ///   - destination: the finished file's name.
  ///   - tag: of the part file's name.
  ///   - free: bytes of the file system that are to stay free.
  ///   - time: the file's, in nanoseconds since 1970; nil for now.
  /// - Returns: its inode.
  func make(
    in folder: Folder, for destination: String, tag: String, leaving free: Int64, time: Int64?
  ) throws(Failure) -> UInt64 {
    let part = try PartFile.making(in: folder, for: destination, tag: tag)
    do throws(Failure) {
      try part.checkSpace(for: Int64(bytes.count), leaving: free)
      try write(to: part)
      try part.setTime(time)
      made = (part, part.record.inode)
      return part.record.inode
    } catch {
      part.discard()
      throw error
    }
  }
}
