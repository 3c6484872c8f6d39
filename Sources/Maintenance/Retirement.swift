import Admission
import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles
import Transfers

/// Ends what is left of transfers that are no longer wanted: remote sessions, part files.
struct Retirement {
  let context: MaintenanceContext

  init(_ context: MaintenanceContext) { self.context = context }

  /// - Parameter isRetired: the transfer is only on record for its session, and goes with it; else a session that is
  ///   left is recorded apart.
  nonisolated(nonsending) func clear(_ transfer: LedgerTransfer, isRetired: Bool) async -> Clearance {
    var clearance = Clearance()
    switch transfer.settings.direction {
    case .download: removePart(transfer)
    case .upload, .copy:
      if let session = transfer.progress.session {
        clearance.obstacle = await clear(session, of: transfer, isRecordedApart: !isRetired)
        if clearance.obstacle == nil { clearance.ended.append(session) }
      }
      do { try await clearIntents(of: transfer, isRetired: isRetired, into: &clearance) } catch {
        // Left on record, so that whoever comes next asks again.
        let failure = Failure(error)
        context.run.remark(
          IntendedSession.remark(transfer.id, of: context.run.job, transfer.destination, failure))
        clearance.obstacle = failure
      }
      if isRetired, clearance.obstacle == nil, !clearance.isOver, transfer.progress.session != nil {
        // It stays for its intents alone.
        var progress = transfer.progress
        (progress.session, progress.sessionState) = (nil, .none)
        context.run.writer.submit(.progress(seq: transfer.seq, progress))
      }
    }
    return clearance
  }

  /// Ends what was asked for without an answer, one creation after the other.
  private nonisolated(nonsending) func clearIntents(
    of transfer: LedgerTransfer, isRetired: Bool, into clearance: inout Clearance
  ) async throws {
    let intents = try context.run.ledger.intents(of: transfer.seq)
    guard !intents.isEmpty, let place = try? place(of: transfer), let remote = try? place.upload() else {
      return
    }
    let sink = sink(transfer, remote, place.endpoint).hasty()
    for intent in intents {
      switch try await IntendedSession.find(intent, at: sink, context.client, context.run.ledger) {
      case .early:
        clearance.early.append(intent)
        continue
      case .unlisted(let failure):
        context.run.remark(IntendedSession.unlisted(transfer.id, transfer.destination, failure))
      case .sessions(let sessions):
        for session in sessions where session.id != transfer.progress.session?.id {
          if let failure = await clear(session, of: transfer, isRecordedApart: !isRetired) {
            clearance.obstacle = failure
          } else {
            clearance.ended.append(session)
          }
        }
      }
      // A retired row keeps its intent until it goes itself.
      guard !isRetired || clearance.obstacle == nil else { continue }
      context.run.writer.submit(.answered(seq: transfer.seq, intent))
    }
  }

  /// - Returns: what keeps it from being ended.
  private nonisolated(nonsending) func clear(
    _ session: RemoteSession, of transfer: LedgerTransfer, isRecordedApart: Bool
  ) async -> Failure? {
    if isRecordedApart { context.run.writer.submit(.abandoned(seq: transfer.seq, session)) }
    guard let failure = await end(session, of: transfer) else {
      if isRecordedApart { context.run.writer.submit(.ended(seq: transfer.seq, session)) }
      return nil
    }
    context.run.remark(SessionEnd.remark(transfer.id, of: context.run.job, session, failure))
    return failure
  }

  /// Where it was uploaded to, on its endpoint as that was when its session was opened.
  private func place(of transfer: LedgerTransfer) throws -> RemotePlace {
    var endpoints = context.endpoints
    if case .remote(let name, _) = transfer.destination,
      let recorded = try context.run.ledger.formerEndpoint(of: transfer.seq)
        ?? context.run.ledger.plannedEndpoint(name),
      let former = try context.formerEndpoint(name, recorded)
    {
      endpoints[name] = former
    }
    return try RemotePlace(transfer.destination, endpoints: endpoints)
  }

  private func sink(
    _ transfer: LedgerTransfer, _ remote: UploadAccess, _ endpoint: Endpoint?
  ) -> any RemoteSink {
    remote.sink(
      Requester(
        context.client, endpoint: endpoint, remote: remote.refusals, settings: transfer.settings,
        throttle: Throttle(transfer.settings.policy)))
  }

  private nonisolated(nonsending) func end(_ session: RemoteSession, of transfer: LedgerTransfer) async
    -> Failure?
  {
    let (remote, endpoint): (UploadAccess, Endpoint?)
    do {
      let place = try place(of: transfer)
      (remote, endpoint) = (try place.upload(), place.endpoint)
    } catch let error as Failure {
      // Nobody can be asked ever again: what is left is for the user to end.
      context.run.remark(
        Diagnostic(
          .warning,
          "\(transfer.id): the upload session \(session.id) of `\(transfer.destination.text)` is left as it is: \(error.message)",
          hint: "end it with the service's own tools"))
      return nil
    } catch {
      return Failure(.internal, "\(error)")
    }
    return await SessionEnd.end(session, at: sink(transfer, remote, endpoint))
  }

  private func removePart(_ transfer: LedgerTransfer) {
    guard let path = transfer.progress.resolvedDestination ?? transfer.destination.localPath else { return }
    let parts = PathParts(path)
    guard let folder = context.local.folder.existing(parts.parent, beneath: !transfer.settings.allowsOutside)
    else {
      return
    }
    LeftParts(transfer, context.run).remove(of: parts.name, in: folder)
  }
}
