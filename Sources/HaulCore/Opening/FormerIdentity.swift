import Endpoints
import JobLedger
import JobModel

/// Endpoints that are provably the stores which a plan of the version before was made for: what is completed there is
/// not sent again because identities say more now.
struct FormerIdentity {
  private let endpoints: Set<String>

  /// Nil where the plan's identities are of today's form, or there is no plan.
  ///
  /// - Parameter dependsOnEnvironment: the manifest takes values from it, and what they were is not on record.
  init?(
    _ job: Job, _ ledger: JobLedger, manifest sha256: String, overrides: [String: String],
    dependsOnEnvironment: Bool
  ) throws {
    guard try ledger.meta(PlanIdentityForm.meta) == nil, let text = try ledger.meta("endpoints") else {
      return nil
    }
    let recorded = EndpointRecords(text: text)
    let isSameManifest =
      try ledger.meta("manifest_sha256") == sha256 && !dependsOnEnvironment
      && (ledger.lastRun()?.overrides ?? [:]) == overrides
    endpoints = Set(
      job.endpoints.values.filter { endpoint in
        // What the record names is compared; what it leaves out was the same only where nothing has changed.
        if isSameManifest { return true }
        return recorded.tellsStore(of: endpoint.name) && recorded.describesSameStore(as: endpoint)
      }.map(\.name))
  }

  /// Whether a transfer's former identity means what today's means.
  func holds(for transfer: PlannedTransfer) -> Bool {
    // A URL says it all.
    transfer.endpointName.map(endpoints.contains) ?? true
  }
}
