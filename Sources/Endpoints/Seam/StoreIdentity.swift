internal import Digests
package import JobModel

/// What tells the store behind an endpoint from others: its kind, its URL, and what its driver says.
package enum StoreIdentity {
  /// Which facts count. The ledger says under which form its identities were made.
  package enum Form: String {
    /// Of haul 0.1.
    case first = "1"
    case current = "2"
  }

  package static func facts(_ endpoint: Endpoint, _ direction: Direction, _ form: Form) -> [String] {
    let own =
      switch form {
      case .first: endpoint.driver.firstIdentity
      case .current: endpoint.driver.identity(direction, at: endpoint.url)
      }
    return [endpoint.driver.word, endpoint.url] + own
  }

  /// The facts of a store that uploads go to, in short.
  static func digest(_ driver: some EndpointDriver, at url: String) -> String? {
    let facts = [driver.word, url] + driver.identity(.upload, at: url)
    return try? Digest.hex(of: Array(facts.joined(separator: "\0").utf8), .sha256)
  }

  /// Names and values in turn: a NUL between all of them keeps them apart.
  static func pairs(_ values: [String: String]) -> [String] {
    values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.flatMap { [$0.key, $0.value] }
  }
}
