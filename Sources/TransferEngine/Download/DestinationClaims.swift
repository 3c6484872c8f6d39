import JobModel
import Locks

/// Who writes which file now: two spellings of one place, or two names that servers gave, must not meet unseen.
final class DestinationClaims: Sendable {
  private let owners = Locked<[String: String]>([:])

  /// A file that one transfer writes.
  struct Claim: Sendable {
    fileprivate let key: String
  }

  /// - Throws: `DESTINATION_EXISTS` where another transfer is at work on the same file.
  func take(_ name: String, in folder: Folder, for id: String) throws(Failure) -> Claim {
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
    return Claim(key: key)
  }

  func release(_ claim: Claim) {
    owners.withLock { _ = $0.removeValue(forKey: claim.key) }
  }
}
