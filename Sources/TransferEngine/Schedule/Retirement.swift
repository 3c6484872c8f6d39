import JobLedger
import JobModel
import Protocols

/// Ends what is left of transfers that are no longer wanted: remote sessions, part files.
struct Retirement {
  let context: EngineContext
  let authenticator: Authenticator
  /// Origins that did not answer: others' sessions there are left for the next time.
  private var silent: Set<String> = []

  init(_ context: EngineContext, _ authenticator: Authenticator) {
    self.context = context
    self.authenticator = authenticator
  }

  /// - Parameter isRetired: the transfer is only on record for its session, and goes with it; else a session that is
  ///   left is recorded apart.
  /// - Returns: what is left, and why; nil where nothing is.
  mutating func clear(_ transfer: LedgerTransfer, isRetired: Bool) async -> Failure? {
    switch transfer.settings.direction {
    case .download:
      removePart(transfer)
      return nil
    case .upload:
      guard let session = transfer.progress.session else { return nil }
      if !isRetired { context.writer.submit(.abandoned(seq: transfer.seq, session)) }
      let failure = await end(session, of: transfer)
      if let failure {
        remark(SessionEnd.remark(transfer.id, session, failure))
      } else if !isRetired {
        context.writer.submit(.ended(seq: transfer.seq, session))
      }
      return failure
    }
  }

  private mutating func end(_ session: RemoteSession, of transfer: LedgerTransfer) async -> Failure? {
    let remote: any UploadProtocol
    do {
      remote = try ProtocolChoice.upload(transfer.destination, endpoints: context.endpoints)
    } catch {
      // Nobody can be asked ever again: what is left is for the user to end.
      remark(
        Diagnostic(
          .warning,
          "\(transfer.id): the upload session \(session.id) of `\(transfer.destination.text)` is left as it is: \(error.message)",
          hint: "end it with the service's own tools"))
      return nil
    }
    let origin = remote.url.origin
    guard !silent.contains(origin) else { return Failure(.networkUnreachable, "\(origin) does not answer") }
    let requester = Requester(
      context: context, authenticator: authenticator,
      endpoint: ProtocolChoice.endpoint(transfer.destination, endpoints: context.endpoints),
      remote: remote, settings: transfer.settings, throttle: Throttle(transfer.settings.policy),
      id: transfer.id, live: LiveTransfer(seq: transfer.seq, id: transfer.id, direction: .upload))
    let failure = await SessionEnd.end(session, at: remote, by: requester, now: context.clock.now())
    if let failure, [.networkUnreachable, .timeout].contains(failure.code) { silent.insert(origin) }
    return failure
  }

  private func remark(_ diagnostic: Diagnostic) {
    if context.run > 0 { context.writer.submit(.diagnostic(run: context.run, diagnostic)) }
    context.events(.diagnostic(diagnostic))
  }

  private func removePart(_ transfer: LedgerTransfer) {
    guard let path = transfer.progress.resolvedDestination ?? transfer.destination.localPath else { return }
    let parts = PathParts(path)
    let folder = context.folder.existing(parts.parent, beneath: !transfer.settings.allowsOutside)
    folder?.remove(PartFile.name(for: parts.name, tag: context.tag(transfer.id)))
  }
}
