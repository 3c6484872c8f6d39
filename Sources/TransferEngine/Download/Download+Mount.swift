import JobLedger
import JobModel
import LocalFiles

/// Destinations on a file system of their own: one that is not mounted must not be taken for an empty folder.
extension Download {
  /// Records which file systems the job and the part file lie on, where they are two.
  ///
  /// - Returns: the part file's.
  @discardableResult
  func noteFileSystem(of folder: Folder) throws -> Folder.FileSystem {
    let (home, away) = (try context.folder.fileSystem(), try folder.fileSystem())
    if home.id != away.id {
      context.writer.submit(.fileSystems(seq: book.transfer.seq, home: home.id, away: away.id))
    }
    return away
  }

  /// Refuses to begin anew where what was there lies on a file system that is not mounted now.
  func expectFileSystem() throws {
    let folder = try requireFolder()
    guard let known = try context.ledger.fileSystems(of: book.transfer.seq) else { return }
    let (home, away) = (try context.folder.fileSystem().id, try folder.fileSystem().id)
    // A job that was copied elsewhere is on another file system itself: it goes on with what came along.
    guard home == known.home, away == home else { return }
    throw Failure(
      .ioError,
      "`\(folder.path)` was on a file system of its own, which is not mounted now; `haul retry --from-scratch` begins anew without it"
    )
  }
}
