import CPosix
import Glibc
import HTTPClient
import JobLedger
import JobModel
import LocalFiles
import Transfers

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
  package static func clear(_ context: MaintenanceContext, remove: Bool) async throws -> [Orphan] {
    var found: [Orphan] = []
    let retirement = Retirement(context)
    var retired = try context.run.ledger.retired()
    while let last = retired.last?.seq {
      for transfer in retired {
        let part = part(of: transfer, context)
        let clearance = remove ? await retirement.clear(transfer, isRetired: true) : nil
        found += try sessions(of: transfer, clearance, context)
        if let part { found.append(part) }
        if clearance?.isOver == true { context.run.writer.submit(.removed(seq: transfer.seq)) }
      }
      retired = try context.run.ledger.retired(after: last)
    }
    for transfer in try context.run.ledger.endedWithIntent() {
      let clearance = remove ? await retirement.clear(transfer, isRetired: false) : nil
      found += try sessions(of: transfer, clearance, context)
    }
    var last: Int64 = 0
    while true {
      let page = try context.run.ledger.page(after: last, onlyTouched: false, limit: 256)
      guard let end = page.last else { break }
      last = end.seq
      for transfer in page where isDone(transfer) {
        guard let part = part(of: transfer, context) else { continue }
        found.append(part)
        if remove { _ = await retirement.clear(transfer, isRetired: false) }
      }
    }
    try await context.run.writer.barrier()
    if remove { try StaleSnapshots.clear(context) }
    return found
  }

  /// - Parameter clearance: nil where it is only to be told what there is; whether the server opened what it was asked
  ///   for, nobody has asked then.
  private static func sessions(
    of transfer: LedgerTransfer, _ clearance: Clearance?, _ context: MaintenanceContext
  ) throws -> [Orphan] {
    let (now, session) = (context.client.clock.now(), transfer.progress.session)
    var (early, places) = (clearance?.early ?? [], (clearance?.ended ?? []).map(\.id))
    if clearance == nil {
      if let session { places.append(session.id) }
      for intent in try context.run.ledger.intents(of: transfer.seq) {
        if IntendedSession.isDue(intent, now: now) {
          places.append(words(intent))
        } else {
          early.append(intent)
        }
      }
    }
    for intent in early {
      context.run.remark(
        Diagnostic(
          .note,
          "\(transfer.id): an upload that `\(transfer.destination.text)` may have opened, \(words(intent)), is not looked for yet: somebody else's that has just begun would look the same",
          hint: "run `haul gc \(context.run.job)` again in a quarter of an hour"))
    }
    func orphan(_ place: String, _ obstacle: Failure?) -> Orphan {
      Orphan(
        kind: .session, place: "\(transfer.destination.text) \(place)", transfer: transfer.id,
        obstacle: obstacle?.message)
    }
    var found = places.map { orphan($0, nil) }
    if let obstacle = clearance?.obstacle {
      let left = session.map(\.id).flatMap { places.contains($0) ? nil : $0 }
      found.append(orphan(left ?? "asked for without an answer", obstacle))
    }
    return found
  }

  private static func words(_ intent: SessionIntent) -> String {
    intent.askedAt.map { "asked for at \(Timestamp.text($0))" } ?? "asked for under the key \(intent.key)"
  }

  private static func isDone(_ transfer: LedgerTransfer) -> Bool {
    switch transfer.state {
    case .completed, .upToDate, .canceled: transfer.settings.direction == .download
    case .queued, .running, .paused, .failed, .skipped: false
    }
  }

  private static func part(of transfer: LedgerTransfer, _ context: MaintenanceContext) -> Orphan? {
    guard transfer.settings.direction == .download,
      let path = transfer.progress.resolvedDestination ?? transfer.destination.localPath
    else { return nil }
    let parts = PathParts(path)
    guard let folder = context.local.folder.existing(parts.parent, beneath: !transfer.settings.allowsOutside),
      let left = LeftParts(transfer, context.run).names(of: parts.name, in: folder).first,
      let status = folder.status(left)
    else { return nil }
    return Orphan(
      kind: .part, place: folder.path + "/" + left, transfer: transfer.id,
      bytes: Int64(status.st_blocks) * 512)
  }
}
