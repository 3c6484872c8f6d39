import JobLedger
import JobModel
import Protocols

/// Ends what is left of a transfer that is no longer wanted: its remote session, its part file.
enum Retirement {
  /// - Returns: why the server may still have its session; nil where nothing is left.
  nonisolated(nonsending) static func clear(
    _ transfer: LedgerTransfer, context: EngineContext, authenticator: Authenticator
  ) async -> Failure? {
    switch transfer.settings.direction {
    case .download:
      removePart(transfer, context)
      return nil
    case .upload:
      guard let session = transfer.progress.session,
        let remote = try? ProtocolChoice.upload(transfer.destination, endpoints: context.endpoints),
        let request = remote.abort(session)
      else { return nil }
      let requester = Requester(
        context: context, authenticator: authenticator,
        endpoint: ProtocolChoice.endpoint(transfer.destination, endpoints: context.endpoints),
        remote: remote, settings: transfer.settings, throttle: Throttle(transfer.settings.policy),
        id: transfer.id,
        live: LiveTransfer(seq: transfer.seq, id: transfer.id, direction: .upload))
      return await requester.farewell(request)
    }
  }

  /// What is said of a session that could not be ended.
  static func remains(_ transfer: LedgerTransfer, _ failure: Failure, job: String) -> Diagnostic {
    Diagnostic(
      .warning, "its session at \(transfer.destination.text) could not be ended: \(failure.message)",
      hint: "the next run of `\(job)` tries again, and so does `haul gc \(job)`")
  }

  private static func removePart(_ transfer: LedgerTransfer, _ context: EngineContext) {
    guard let path = transfer.progress.resolvedDestination ?? transfer.destination.localPath else { return }
    let parts = PathParts(path)
    let folder = context.folder.existing(parts.parent, beneath: !transfer.settings.allowsOutside)
    folder?.remove(PartFile.name(for: parts.name, tag: context.tag(transfer.id)))
  }
}
