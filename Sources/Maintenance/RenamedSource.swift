import Digests
import JobLedger
import JobModel
import LocalFiles
import Transfers

/// An upload under way whose source was moved: its new path goes on where the old one stopped.
enum RenamedSource {
  /// The transfer that goes on with a retired one's session: same id or destination, nothing moved yet, and a source
  /// of the same size and fingerprint. nil where the old source is still there, or nobody fits.
  static func successor(of old: LedgerTransfer, context: MaintenanceContext) throws -> Int64? {
    guard old.settings.direction == .upload, old.progress.session != nil, let facts = old.progress.source,
      let print = facts.fingerprint, let path = old.source.localPath, !exists(path, context),
      try isSameStore(old, context)
    else { return nil }
    for seq in try context.run.ledger.successors(of: old) {
      guard let candidate = try context.run.ledger.transfer(seq), candidate.settings.direction == .upload,
        candidate.destination == old.destination, candidate.progress.session == nil,
        let path = candidate.source.localPath, let file = try? OpenFile.reading(absolute(path, context)),
        let now = try? file.facts(), now.size == facts.size,
        let fingerprint = try? Fingerprint(size: now.size, read: { try file.bytes(at: $0, count: $1) }),
        fingerprint.description == print
      else { continue }
      return seq
    }
    return nil
  }

  /// A session is of no use to another store.
  private static func isSameStore(_ old: LedgerTransfer, _ context: MaintenanceContext) throws -> Bool {
    guard case .remote(let name, _) = old.destination,
      let recorded = try context.run.ledger.formerEndpoint(of: old.seq)
    else { return true }
    do { return try context.formerEndpoint(name, recorded) == nil } catch { return false }
  }

  private static func absolute(_ path: String, _ context: MaintenanceContext) -> String {
    RelativePath.absolute(path, in: context.local.folder.path)
  }

  private static func exists(_ path: String, _ context: MaintenanceContext) -> Bool {
    (try? OpenFile.reading(absolute(path, context))) != nil
  }
}
