import Endpoints
import JobLedger
import JobModel
import Locks
import Reporting

/// What reports say of a transfer's remote side: protocol, URL, and what the protocol can do.
struct EndpointDescriptions {
  /// What decides what can be done for a download, whatever its path is.
  private struct Kind: Hashable {
    /// nil for a URL by itself.
    var endpoint: String?
    /// As its server has shown it.
    var servesRanges: Bool?
  }

  private let endpoints: [String: Endpoint]
  private let downloads = Locked<[Kind: Capabilities]>([:])

  init(_ ledger: JobLedger) throws {
    endpoints = EndpointRecords(text: try ledger.meta("endpoints") ?? "{}").endpoints
  }

  func describe(_ transfer: LedgerTransfer) -> (protocol: String, url: String?) {
    let remote = try? RemotePlace(transfer.remote, endpoints: endpoints)
    return (
      RemotePlace.driver(transfer.remote, endpoints).word,
      remote?.url(transfer.settings.direction.wire)?.description
    )
  }

  /// What the transfer's protocol can do, as far as it is known without asking.
  func capabilities(_ transfer: LedgerTransfer) -> Capabilities? {
    guard transfer.settings.direction == .download else { return found(transfer) }
    var kind = Kind(endpoint: nil, servesRanges: transfer.progress.remote.servesRanges)
    if case .remote(let name, _) = transfer.remote { kind.endpoint = name }
    if let known = downloads.withLock({ $0[kind] }) { return known }
    let found = self.found(transfer)
    downloads.withLock { $0[kind] = found }
    return found
  }

  private func found(_ transfer: LedgerTransfer) -> Capabilities? {
    let word = RemotePlace.driver(transfer.remote, endpoints).word
    guard let remote = try? RemotePlace(transfer.remote, endpoints: endpoints) else { return nil }
    let direction = transfer.settings.direction
    switch direction {
    case .download:
      guard let download = try? remote.download().traits else { return nil }
      let ranges = transfer.progress.remote.servesRanges ?? (download.promisesRanges ? true : nil)
      return Capabilities(
        protocolName: word, direction: direction, isResumable: ranges, isParallel: ranges,
        verifiedBy: download.promisedDigests.map(\.rawValue).sorted())
    case .upload, .copy:
      guard let upload = try? remote.upload().traits else { return nil }
      let abilities = upload.abilities(of: transfer.progress.size ?? transfer.knownSize)
      return Capabilities(
        protocolName: word, direction: direction, isResumable: abilities.resumes,
        isParallel: abilities.isParallel, verifiedBy: abilities.fileDigests.map(\.rawValue).sorted())
    }
  }
}
