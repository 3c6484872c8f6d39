import JobLedger
import JobModel
import Protocols

/// Ends what is left of a transfer that is no longer wanted: its remote session, its part file.
enum Retirement {
  nonisolated(nonsending) static func clear(
    _ transfer: LedgerTransfer, context: EngineContext, authenticator: Authenticator
  ) async {
    switch transfer.settings.direction {
    case .download: removePart(transfer, context)
    case .upload:
      let intent = try? context.ledger.intent(of: transfer.seq)
      guard transfer.progress.session != nil || intent != nil,
        let remote = try? ProtocolChoice.upload(transfer.destination, endpoints: context.endpoints)
      else { return }
      var settings = transfer.settings
      // A server that is away must not hold up the run; its sessions expire by themselves.
      settings.policy.retryAttempts = 1
      let requester = Requester(
        context: context, authenticator: authenticator,
        endpoint: ProtocolChoice.endpoint(transfer.destination, endpoints: context.endpoints),
        remote: remote, settings: settings, throttle: Throttle(settings.policy), id: transfer.id,
        live: LiveTransfer(seq: transfer.seq, id: transfer.id, direction: .upload))
      var session = transfer.progress.session
      if session == nil, let intent {
        session = try? await IntendedSession.find(
          intent, at: remote, by: requester, now: context.clock.now())
      }
      if let request = session.flatMap(remote.abort) { _ = try? await requester.call(request) }
      if intent != nil { context.writer.submit(.intent(seq: transfer.seq, nil)) }
    }
  }

  private static func removePart(_ transfer: LedgerTransfer, _ context: EngineContext) {
    guard let path = transfer.progress.resolvedDestination ?? transfer.destination.localPath else { return }
    let parts = PathParts(path)
    let folder = context.folder.existing(parts.parent, beneath: !transfer.settings.allowsOutside)
    folder?.remove(PartFile.name(for: parts.name, tag: context.tag(transfer.id)))
  }
}
