import Endpoints
import HTTPClient
import JobLedger
import JobModel
import Reporting

/// Compares an upload's file at its endpoint with its record.
struct UploadCheck: Sendable {
  let prober: Prober
  /// Endpoints that mean another store now than in the last run.
  let changed: Set<String>
  /// Reads the bytes where the endpoint gives them.
  let readsBack: Bool

  /// - Returns: also how many bytes were read.
  /// - Throws: what kept the server from being asked.
  func compare(_ transfer: LedgerTransfer) async throws -> (comparison: Comparison, bytesRead: Int64) {
    let (progress, place, settings) = (transfer.progress, transfer.destination, transfer.settings)
    if case .remote(let name, _) = place, changed.contains(name) {
      return (.unverifiable(.endpointChanged), 0)
    }
    let record = RecordComparison(progress: progress)
    let file = UploadedFile(
      remoteID: progress.remoteID, version: progress.remote.version, etag: progress.remote.etag)
    let (found, traits) = try await prober.look(for: file, at: place, settings: settings)
    let comparison: Comparison =
      switch found {
      case nil: .unverifiable(.notTold)
      case .nothing: record.missing
      case .hidden(let failure): .unverifiable(reason: failure.code.rawValue)
      case .failed(let failure): throw failure
      case .object(let seen, _):
        record.object(seen, echoes: traits.echoes, etagsMayBeMD5: traits.etagsMayBeMD5)
      }
    if case .different = comparison { return (comparison, 0) }
    // Only now: some services still give a file by its id when its name means another one.
    guard readsBack, progress.digests[.sha256] != nil else { return (comparison, 0) }
    do {
      guard let there = try await prober.readBack(file, at: place, settings: settings) else {
        return (comparison, 0)
      }
      return (record.bytes(there.digest, .sha256), there.bytes)
    } catch let failure as Failure where failure.code == .notFound {
      return (record.missing, 0)
    }
  }
}
