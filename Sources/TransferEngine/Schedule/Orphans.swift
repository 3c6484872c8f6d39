import CPosix
import Glibc
import JobLedger
import JobModel

/// What a job has left behind and nobody will come back for.
package struct Orphan: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable { case part, session }
  package var kind: Kind
  /// A path, or the remote place of a session.
  package var place: String
  package var transfer: String
  /// Bytes of a part file.
  package var bytes: Int64?
  /// Why it could not be removed; nil where it was, or was only to be told.
  package var obstacle: String?
}

/// Finds and removes part files that no unfinished transfer owns, and sessions of transfers that the manifest no
/// longer has or that have ended. Files whose tag is not this job's are never touched.
package enum Orphans {
  /// - Parameter remove: false only tells what there is (`--dry-run`).
  package static func clear(_ context: EngineContext, remove: Bool) async throws -> [Orphan] {
    var found: [Orphan] = []
    let retirement = Retirement(context, Authenticator(context))
    for transfer in try context.ledger.retired() {
      let part = part(of: transfer, context)
      // Looked for before it is ended.
      let intent = try context.ledger.intent(of: transfer.seq)
      let failure = remove ? await retirement.clear(transfer, isRetired: true) : nil
      if let session = transfer.progress.session {
        found.append(
          Orphan(
            kind: .session, place: "\(transfer.destination.text) \(session.id)", transfer: transfer.id,
            obstacle: failure?.message))
      } else if let intent {
        found.append(orphan(intent, of: transfer, failure))
      }
      if let part { found.append(part) }
      if remove, failure == nil { context.writer.submit(.removed(seq: transfer.seq)) }
    }
    for transfer in try context.ledger.endedWithIntent() {
      guard let intent = try context.ledger.intent(of: transfer.seq) else { continue }
      let failure = remove ? await retirement.clear(transfer, isRetired: false) : nil
      found.append(orphan(intent, of: transfer, failure))
    }
    var last: Int64 = 0
    while true {
      let page = try context.ledger.page(after: last, onlyTouched: false, limit: 256)
      guard let end = page.last else { break }
      last = end.seq
      for transfer in page where isDone(transfer) {
        guard let part = part(of: transfer, context) else { continue }
        found.append(part)
        if remove { _ = await retirement.clear(transfer, isRetired: false) }
      }
    }
    try await context.writer.barrier()
    return found
  }

  private static func orphan(_ intent: SessionIntent, of transfer: LedgerTransfer, _ failure: Failure?)
    -> Orphan
  {
    Orphan(
      kind: .session,
      place:
        "\(transfer.destination.text) \(intent.askedAt.map { "asked for at \(Timestamp.text($0))" } ?? "asked for under the key \(intent.key)")",
      transfer: transfer.id, obstacle: failure?.message)
  }

  private static func isDone(_ transfer: LedgerTransfer) -> Bool {
    switch transfer.state {
    case .completed, .upToDate, .canceled: transfer.settings.direction == .download
    case .queued, .running, .paused, .failed, .skipped: false
    }
  }

  private static func part(of transfer: LedgerTransfer, _ context: EngineContext) -> Orphan? {
    guard transfer.settings.direction == .download,
      let path = transfer.progress.resolvedDestination ?? transfer.destination.localPath
    else { return nil }
    let parts = PathParts(path)
    guard let folder = context.folder.existing(parts.parent, beneath: !transfer.settings.allowsOutside),
      let left = LeftParts(transfer, context).names(of: parts.name, in: folder).first,
      let status = folder.status(left)
    else { return nil }
    return Orphan(
      kind: .part, place: folder.path + "/" + left, transfer: transfer.id,
      bytes: Int64(status.st_blocks) * 512)
  }
}
