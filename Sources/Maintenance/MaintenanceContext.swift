package import Endpoints
import HTTPClient
package import Transfers

/// What it takes to bring a job's completions to the disk, and to end what nobody goes on with.
package struct MaintenanceContext: Sendable {
  let client: ClientContext
  let run: RunContext
  let local: LocalContext
  /// By name.
  let endpoints: [String: Endpoint]
  /// The store that a retired upload was made for, where its endpoint's name means another one now: by what was
  /// recorded of the endpoint. Throws `Failure`.
  let formerEndpoint: @Sendable (_ name: String, _ recorded: String) throws -> Endpoint?

  package init(
    _ transfers: TransferContext,
    formerEndpoint: @escaping @Sendable (_ name: String, _ recorded: String) throws -> Endpoint? = { _, _ in
      nil
    }
  ) {
    client = transfers.client
    run = transfers.run
    local = transfers.local
    endpoints = transfers.endpoints
    self.formerEndpoint = formerEndpoint
  }
}
