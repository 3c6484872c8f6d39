import CPosix
import Glibc
package import JobModel

/// A private copy of an upload's source, so that the source may change meanwhile.
package enum Snapshot {
  private static let tries = 3

  /// Makes the copy whole or not at all.
  ///
  /// - Parameters:
  ///   - rule: `reflink` shares the blocks and fails where the file system can't; `copy` copies them.
  ///   - path: beside the ledger, mode 0600.
  package static func make(_ source: OpenFile, _ rule: SnapshotRule, at path: String) throws(Failure) {
    let temporary = path + ".tmp"
    let descriptor = haul_open_at(AT_FDCWD, temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileFault.failure(errno, "make the snapshot `\(temporary)`") }
    let copy = OpenFile(descriptor: descriptor, path: temporary)
    switch rule {
    case .none: return
    case .reflink:
      guard haul_reflink(copy.descriptor, source.descriptor) == 0 else {
        unlink(temporary)
        throw Failure(
          .ioError,
          "`\(source.path)` can't be reflinked to the state folder: \(String(cString: strerror(errno))); use `snapshot: copy`"
        )
      }
    case .copy:
      do throws(Failure) { try copyStill(source, to: copy) } catch {
        unlink(temporary)
        throw error
      }
    }
    guard rename(temporary, path) == 0 else { throw FileFault.failure(errno, "make the snapshot `\(path)`") }
  }

  /// Copies what the source was at one time: of one that is written meanwhile, what is still there when it is read again.
  private static func copyStill(_ source: OpenFile, to copy: OpenFile) throws(Failure) {
    for _ in 0..<tries {
      let facts = try source.facts()
      ftruncate(copy.descriptor, 0)
      try read(source, upTo: facts.size) { bytes, position throws(Failure) in
        try copy.write(bytes, at: position)
        return true
      }
      if try source.facts() == facts { return }
      var read: Int64 = 0
      try self.read(source, upTo: facts.size) { bytes, position throws(Failure) in
        guard try copy.bytes(at: position, count: bytes.count).elementsEqual(bytes) else { return false }
        read += Int64(bytes.count)
        return true
      }
      if read == facts.size { return }
    }
    throw Failure(.sourceChanged, "`\(source.path)` changed while its snapshot was made, \(tries) times")
  }

  private static func read(
    _ source: OpenFile, upTo size: Int64,
    _ take: (UnsafeRawBufferPointer, _ position: Int64) throws(Failure) -> Bool
  ) throws(Failure) {
    var position: Int64 = 0
    var failure: Failure?
    _ = try source.scan(0..<size) { bytes in
      do throws(Failure) {
        guard try take(bytes, position) else { return false }
      } catch {
        failure = error
        return false
      }
      position += Int64(bytes.count)
      return true
    }
    if let failure { throw failure }
  }
}
