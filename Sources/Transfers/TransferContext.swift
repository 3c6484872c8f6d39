import Admission
package import Endpoints
package import HTTPClient
import JobLedger
package import JobModel

/// What all transfers of a run share.
package final class TransferContext: Sendable {
  package let client: ClientContext
  package let run: RunContext
  package let local: LocalContext
  /// By name.
  package let endpoints: [String: Endpoint]
  package let board: ProgressRegistry
  /// Of the job, beside those of policies.
  package let limits: JobLimits
  /// Read all that was recorded again before it counts (`--resume-check full`).
  let checksEverything: Bool
  let uploads: SharedUploads
  let listings: ListedWindows
  let said = WarnOnce()

  package init(
    client: ClientContext, run: RunContext, local: LocalContext, endpoints: [String: Endpoint],
    board: ProgressRegistry, limits: JobLimits = JobLimits(), checksEverything: Bool = false,
    buffers: BufferBudget = BufferBudget()
  ) {
    self.client = client
    self.run = run
    listings = ListedWindows(client.transport.executor)
    self.local = local
    self.endpoints = endpoints
    self.board = board
    self.limits = limits
    self.checksEverything = checksEverything
    uploads = SharedUploads(budget: buffers)
  }

  /// What the transfer's host was last measured at, where its chunk size is chosen by that.
  func rate(for transfer: LedgerTransfer) -> Double? {
    guard transfer.settings.chunkSize == .auto else { return nil }
    return (try? RemotePlace(transfer.remote, endpoints: endpoints)).flatMap {
      client.admission.rates[HostRate(origin: $0.url.origin, direction: transfer.settings.direction.wire)]
    }
  }
}
