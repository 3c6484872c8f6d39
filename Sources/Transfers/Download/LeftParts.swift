package import JobLedger
import JobModel
package import LocalFiles

/// Part files that earlier attempts at a download may have left.
package struct LeftParts {
  private let record: PartRecord?
  /// The tags that name them: the recorded one, the transfer's own, and the one that versions without a record gave.
  private let tags: [String]

  package init(_ transfer: LedgerTransfer, _ run: RunContext) {
    record = transfer.hasChunks ? (try? run.ledger.part(of: transfer.seq)) ?? nil : nil
    var tags = [run.partTag(transfer.seq), run.tag(transfer.id)]
    if let record, !tags.contains(record.tag) { tags.insert(record.tag, at: 0) }
    self.tags = tags
  }

  /// The one that holds the recorded chunks.
  ///
  /// - Throws: `IO_ERROR` where a link, another user's file or the like has its name.
  func find(of destination: String, in folder: Folder) throws(Failure) -> Folder.FoundPart {
    guard let tag = record?.tag ?? tags.last else { return .nothing }
    return try folder.part(PartName.of(destination, tag: tag), record: record, tag: tag)
  }

  /// Names of those that lie there and that nobody works on.
  package func names(of destination: String, in folder: Folder) -> [String] {
    tags.compactMap { tag in
      let name = PartName.of(destination, tag: tag)
      return folder.isLeftPart(name, record: tag == record?.tag ? record : nil) ? name : nil
    }
  }

  /// Gives those that nobody works on the names that they have beside another destination.
  func move(of destination: String, in folder: Folder, to name: String, in other: Folder) {
    for tag in tags {
      let (old, new) = (PartName.of(destination, tag: tag), PartName.of(name, tag: tag))
      guard folder.isLeftPart(old, record: tag == record?.tag ? record : nil), other.status(new) == nil
      else { continue }
      folder.move(old, to: new, in: other)
    }
  }

  package func remove(of destination: String, in folder: Folder) {
    for tag in tags {
      folder.removePart(PartName.of(destination, tag: tag), record: tag == record?.tag ? record : nil)
    }
  }
}
