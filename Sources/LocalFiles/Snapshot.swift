import CPosix
import Glibc
package import JobModel

/// A private copy of an upload's source, so that the source may change meanwhile.
package enum Snapshot {
  /// Makes the copy whole or not at all.
  ///
  /// - Parameters:
  ///   - rule: `reflink` shares the blocks and fails where the file system can't; `copy` copies them.
  ///   - path: beside the ledger, mode 0600.
  package static func make(_ source: OpenFile, _ rule: SnapshotRule, at path: String) throws(Failure) {
    let temporary = path + ".tmp"
    let descriptor = haul_open_at(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
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
      let size = try source.facts().size
      var position: Int64 = 0
      var failure: Failure?
      _ = try source.scan(0..<size) { bytes in
        do throws(Failure) { try copy.write(bytes, at: position) } catch {
          failure = error
          return false
        }
        position += Int64(bytes.count)
        return true
      }
      if let failure {
        unlink(temporary)
        throw failure
      }
    }
    guard rename(temporary, path) == 0 else { throw FileFault.failure(errno, "make the snapshot `\(path)`") }
  }
}
