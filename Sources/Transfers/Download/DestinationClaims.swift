import JobLedger
import JobModel
import LocalFiles
import Locks

/// Who writes which file now: two spellings of one place, or two names that servers gave, must not meet unseen.
final class DestinationClaims: Sendable {
  private let owners = Locked<[Claim: String]>([:])

  /// A file that one transfer writes.
  struct Claim: Sendable, Hashable {
    fileprivate let folder: FolderIdentity
    fileprivate let name: ByteText
  }

  /// - Throws: `DESTINATION_EXISTS` where another transfer is at work on the same file.
  func take(_ name: String, in folder: Folder, for id: String) throws(Failure) -> Claim {
    let claim = Claim(folder: folder.identity, name: ByteText(name))
    let owner = owners.withLock { owners in
      let owner = owners[claim, default: id]
      owners[claim] = owner
      return owner
    }
    guard ByteText(owner) == ByteText(id) else {
      throw Failure(
        .destinationExists, "`\(folder.path)/\(name)` is written by the transfer `\(owner)` as well")
    }
    return claim
  }

  func release(_ claim: Claim) {
    owners.withLock { _ = $0.removeValue(forKey: claim) }
  }
}

extension TransferRecord {
  /// Names that servers give are not known when a job is divided: two parts may be given one.
  var ownerElsewhere: (@Sendable (FileFacts) -> String?)? {
    guard transfer.takesSourceName, let owner = context.local.ownerElsewhere else { return nil }
    // What another part did as this transfer, before `needs` brought it here, is its own.
    return { [id] file in owner(file).flatMap { ByteText($0) == ByteText(id) ? nil : $0 } }
  }
}

extension Failure {
  static func written(_ path: String, by owner: String) -> Failure {
    Failure(.destinationExists, "`\(path)` is what the transfer `\(owner)` of this job wrote")
  }
}
