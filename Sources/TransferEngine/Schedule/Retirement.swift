import JobLedger
import JobModel
import Endpoints

/// Ends what is left of transfers that are no longer wanted: remote sessions, part files.
struct Retirement {
  let context: EngineContext
  let authenticator: Authenticator

  init(_ context: EngineContext, _ authenticator: Authenticator) {
    self.context = context
    self.authenticator = authenticator
  }

  /// - Parameter isRetired: the transfer is only on record for its session, and goes with it; else a session that is
  ///   left is recorded apart.
  /// - Returns: what is left, and why; nil where nothing is.
  nonisolated(nonsending) func clear(_ transfer: LedgerTransfer, isRetired: Bool) async -> Failure? {
    switch transfer.settings.direction {
    case .download:
      removePart(transfer)
      return nil
    case .upload:
      let sessions: [RemoteSession]
      do { sessions = try await left(of: transfer) } catch {
        // Left on record, so that whoever comes next asks again.
        let failure = Failure(error)
        context.remark(IntendedSession.remark(transfer.id, of: context.job, transfer.destination, failure))
        return failure
      }
      // A retired row keeps its intent until it goes itself.
      if !isRetired, !sessions.isEmpty {
        for session in sessions { context.writer.submit(.abandoned(seq: transfer.seq, session)) }
        context.writer.submit(.intent(seq: transfer.seq, nil))
      }
      var obstacle: Failure?
      for session in sessions {
        if let failure = await end(session, of: transfer) {
          context.remark(SessionEnd.remark(transfer.id, of: context.job, session, failure))
          obstacle = failure
        } else if !isRetired {
          context.writer.submit(.ended(seq: transfer.seq, session))
        }
      }
      return obstacle
    }
  }

  /// The session on record, or those that were about to be opened and may have been.
  ///
  /// - Throws: what kept the server from being asked.
  private nonisolated(nonsending) func left(of transfer: LedgerTransfer) async throws -> [RemoteSession] {
    if let session = transfer.progress.session { return [session] }
    guard let intent = try context.ledger.intent(of: transfer.seq),
      let place = try? place(of: transfer), let remote = try? place.upload()
    else { return [] }
    let now = context.clock.now()
    if let silence = context.silentHosts.current(remote.url.origin, now: now) { throw silence }
    let found: [RemoteSession]
    do {
      found = try await IntendedSession.find(
        intent, at: remote, by: requester(transfer, remote, place.endpoint).hasty(tries: 1), now: now)
    } catch {
      context.silentHosts.note(remote.url.origin, error, now: now)
      throw error
    }
    if found.isEmpty { context.writer.submit(.intent(seq: transfer.seq, nil)) }
    return found
  }

  /// Where it was uploaded to, on its endpoint as that was when its session was opened.
  private func place(of transfer: LedgerTransfer) throws -> RemotePlace {
    var endpoints = context.endpoints
    if case .remote(let name, _) = transfer.destination,
      let recorded = try context.ledger.formerEndpoint(of: transfer.seq),
      let former = try context.formerEndpoint(name, recorded)
    {
      endpoints[name] = former
    }
    return try RemotePlace(transfer.destination, endpoints: endpoints)
  }

  private func requester(
    _ transfer: LedgerTransfer, _ remote: any UploadProtocol, _ endpoint: Endpoint?
  ) -> Requester {
    Requester(
      context: context, authenticator: authenticator, endpoint: endpoint, remote: remote,
      settings: transfer.settings, throttle: Throttle(transfer.settings.policy),
      id: transfer.id,
      live: LiveTransfer(seq: transfer.seq, id: transfer.id, direction: .upload))
  }

  private nonisolated(nonsending) func end(_ session: RemoteSession, of transfer: LedgerTransfer) async
    -> Failure?
  {
    let (remote, endpoint): (any UploadProtocol, Endpoint?)
    do {
      let place = try place(of: transfer)
      (remote, endpoint) = (try place.upload(), place.endpoint)
    } catch let error as Failure {
      // Nobody can be asked ever again: what is left is for the user to end.
      context.remark(
        Diagnostic(
          .warning,
          "\(transfer.id): the upload session \(session.id) of `\(transfer.destination.text)` is left as it is: \(error.message)",
          hint: "end it with the service's own tools"))
      return nil
    } catch {
      return Failure(.internal, "\(error)")
    }
    return await SessionEnd.end(
      session, at: remote, by: requester(transfer, remote, endpoint), now: context.clock.now())
  }

  private func removePart(_ transfer: LedgerTransfer) {
    guard let path = transfer.progress.resolvedDestination ?? transfer.destination.localPath else { return }
    let parts = PathParts(path)
    guard let folder = context.folder.existing(parts.parent, beneath: !transfer.settings.allowsOutside) else {
      return
    }
    LeftParts(transfer, context).remove(of: parts.name, in: folder)
  }
}
