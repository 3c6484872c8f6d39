import Admission
import Endpoints
package import JobLedger
package import JobModel

/// Asks servers for what a plan does not know, without reading a byte of a body.
package actor Prober {
  nonisolated private let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let context: EngineContext
  private let authenticator: Authenticator

  package init(_ context: EngineContext) {
    executor = context.transport.executor
    self.context = context
    authenticator = Authenticator(context)
  }

  /// What the server says of a download's source.
  package func probe(_ transfer: LedgerTransfer) async throws -> RemoteObject {
    let live = LiveTransfer(seq: transfer.seq, id: transfer.id, direction: .download)
    let place = try RemotePlace(transfer.source, endpoints: context.endpoints)
    let remote = try place.download()
    let requester = Requester(
      context: context, authenticator: authenticator, endpoint: place.endpoint, remote: remote.refusals,
      settings: transfer.settings,
      throttle: Throttle(transfer.settings.policy), id: transfer.id, live: live)
    return try await remote.source(requester).probe()
  }
}
