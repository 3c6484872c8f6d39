import Digests
import JobModel

/// What the progress of a transfer belongs to, as eight bytes: those of a digest of its source, destination and endpoint.
/// A plan is known again by them: their value never changes.
final class ProgressIdentity {
  private let digest: RepeatedDigest
  /// What each endpoint adds.
  private let scopes: [String: [UInt8]]
  private var bytes: [UInt8] = []

  init(_ job: Job) throws {
    digest = try RepeatedDigest(.sha256)
    scopes = job.endpoints.mapValues { endpoint in
      ([endpoint.kind.word, endpoint.url] + endpoint.kind.scope).reduce(into: []) { $0 += [0] + $1.utf8 }
    }
  }

  func of(_ transfer: PlannedTransfer) -> ArraySlice<UInt8> {
    let direction = transfer.settings.direction
    bytes.removeAll(keepingCapacity: true)
    bytes += direction.rawValue.utf8
    bytes.append(0)
    let source = bytes.count
    bytes += transfer.source.text.utf8
    // A query may be a signature that is new each day, so it does not count.
    if case .url = transfer.source, let query = bytes[source...].firstIndex(of: UInt8(ascii: "?")) {
      bytes.removeSubrange(query...)
    }
    bytes.append(0)
    bytes += transfer.destinationIdentity.utf8
    if case .remote(let name, _) = direction == .download ? transfer.source : transfer.destination,
      let scope = scopes[name]
    {
      bytes += scope
    }
    return digest.bytes(of: bytes).prefix(8)
  }
}
