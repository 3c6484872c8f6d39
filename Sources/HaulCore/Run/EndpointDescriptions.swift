import Endpoints
import JobLedger
import JobModel
import Reporting

/// What reports say of a transfer's remote side: protocol, URL, and what the protocol can do.
struct EndpointDescriptions {
  private let endpoints: [String: Endpoint]

  init(_ ledger: JobLedger) throws {
    endpoints = EndpointRecords(text: try ledger.meta("endpoints") ?? "{}").endpoints
  }

  func describe(_ transfer: LedgerTransfer) -> (protocol: String, url: String?) {
    let remote = try? RemotePlace(transfer.remote, endpoints: endpoints)
    return (
      RemotePlace.driver(transfer.remote, endpoints).word,
      remote?.url(transfer.settings.direction)?.description
    )
  }

  /// What the transfer's protocol can do, as far as it is known without asking.
  func capabilities(_ transfer: LedgerTransfer) -> Capabilities? {
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
    case .upload:
      guard let upload = try? remote.upload().traits else { return nil }
      let abilities = upload.abilities(of: transfer.progress.size ?? transfer.knownSize)
      return Capabilities(
        protocolName: word, direction: direction, isResumable: abilities.resumes,
        isParallel: abilities.isParallel, verifiedBy: abilities.fileDigests.map(\.rawValue).sorted())
    }
  }
}
