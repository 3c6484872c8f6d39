import Digests
import Endpoints
import JobModel

/// Makes the key that a transfer's progress is recorded under: eight bytes of a digest of its source, destination and
/// endpoint. A plan recognises its transfers by it, so its value never changes within a form.
final class TransferKey {
  private let digest: RepeatedDigest
  private let form: StoreIdentity.Form
  /// What each endpoint adds, by direction.
  private let stores: [Direction: [String: [UInt8]]]
  private var bytes: [UInt8] = []

  init(_ job: Job, _ form: StoreIdentity.Form = .current) throws {
    digest = try RepeatedDigest(.sha256)
    self.form = form
    var stores: [Direction: [String: [UInt8]]] = [:]
    for direction in Direction.allCases {
      stores[direction] = job.endpoints.mapValues { endpoint in
        StoreIdentity.facts(endpoint, direction, form).reduce(into: []) { $0 += [0] + $1.utf8 }
      }
    }
    self.stores = stores
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
    let destination = bytes.count
    bytes += transfer.destinationIdentity.utf8
    if form == .current, case .url = transfer.destination,
      let query = bytes[destination...].firstIndex(of: UInt8(ascii: "?"))
    {
      bytes.removeSubrange(query...)
    }
    if let name = transfer.endpointName, let store = stores[direction.wire]?[name] { bytes += store }
    if direction == .copy, case .remote(let name, _) = transfer.source, let store = stores[.download]?[name] {
      bytes.append(0)
      bytes += store
    }
    return digest.bytes(of: bytes).prefix(8)
  }
}

extension PlannedTransfer {
  /// The declared endpoint that it moves from or to; of a copy, the destination's.
  var endpointName: String? {
    switch settings.direction.writesRemote ? destination : source {
    case .remote(let name, _): name
    case .local, .url: nil
    }
  }
}
