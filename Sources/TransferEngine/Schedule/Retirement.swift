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
      guard let session = transfer.progress.session,
        let remote = try? ProtocolChoice.upload(transfer.destination, endpoints: context.endpoints),
        let request = remote.abort(session)
      else { return }
      var settings = transfer.settings
      // A server that is away must not hold up the run; its sessions expire by themselves.
      settings.policy.retryAttempts = 1
      let requester = Requester(
        context: context, authenticator: authenticator,
        endpoint: ProtocolChoice.endpoint(transfer.destination, endpoints: context.endpoints),
        remote: remote, settings: settings, throttle: Throttle(settings.policy), id: transfer.id,
        live: LiveTransfer(seq: transfer.seq, id: transfer.id, direction: .upload))
      _ = try? await requester.call(request)
    }
  }

  private static func removePart(_ transfer: LedgerTransfer, _ context: EngineContext) {
    guard let path = transfer.progress.resolvedDestination ?? transfer.destination.localPath else { return }
    let parts = PathParts(path)
    let folder = context.folder.existing(parts.parent, beneath: !transfer.settings.allowsOutside)
    folder?.remove(PartFile.name(for: parts.name, tag: context.tag(transfer.id)))
  }
}
