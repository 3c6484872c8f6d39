import Digests
package import JobLedger
import JobModel
package import LocalFiles
package import Transfers

/// Uploads under way whose source is no longer what their sessions were opened for: told before a byte moves.
package enum ChangedSources {
  /// - Returns: ids, in the plan's order. Sources that are gone are not among them, nor are those with a snapshot.
  package static func ids(_ ledger: JobLedger, folder: Folder, copies: SnapshotFolder) throws -> [String] {
    var changed: [String] = []
    var last: Int64 = 0
    while true {
      let page = try ledger.begunUploads(after: last, limit: 256)
      guard let end = page.last else { return changed }
      last = end.seq
      for transfer in page
      where transfer.settings.snapshot == .none && isChanged(transfer, folder)
        && !copies.hasCopy(of: transfer.id)
      {
        changed.append(transfer.id)
      }
    }
  }

  private static func isChanged(_ transfer: LedgerTransfer, _ folder: Folder) -> Bool {
    guard let recorded = transfer.progress.source, let path = transfer.source.localPath,
      let file = try? OpenFile.reading(RelativePath.absolute(path, in: folder.path)),
      var now = try? file.facts()
    else { return false }
    now.fingerprint = try? Fingerprint(size: now.size) { try file.bytes(at: $0, count: $1) }.description
    // What was sent of one that was only touched is compared with it.
    return !recorded.isSameContent(as: now) && !recorded.mayBeSameContent(as: now)
  }
}
