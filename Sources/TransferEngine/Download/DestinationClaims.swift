import JobModel
import Synchronization

/// Who writes which file now: two spellings of one place, or two names that servers gave, must not meet unseen.
final class DestinationClaims: Sendable {
  private let owners = Mutex<[String: String]>([:])

  /// - Throws: `DESTINATION_EXISTS` where another transfer is at work on the same file.
  func take(_ name: String, in folder: Folder, for id: String) throws(Failure) {
    let key = "\(try folder.facts().inode)/\(name)"
    let owner = owners.withLock { owners in
      let owner = owners[key, default: id]
      owners[key] = owner
      return owner
    }
    guard owner == id else {
      throw Failure(
        .destinationExists, "`\(folder.path)/\(name)` is written by the transfer `\(owner)` as well")
    }
  }

  func release(_ id: String) {
    owners.withLock { owners in owners = owners.filter { $0.value != id } }
  }
}
