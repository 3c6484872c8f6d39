package import Endpoints
package import JobModel

/// What tells one destination from others, whatever its spelling: two endpoints may be names of one store, and one may lie
/// below another.
package struct DestinationKeys: Sendable {
  private struct Store: Sendable {
    /// Begins with a NUL: no local path does.
    let prefix: String
    let joinsSlashes: Bool
  }
  private let stores: [String: Store]

  package init(_ endpoints: [String: Endpoint]) {
    var alike: [Endpoint] = []
    var stores: [String: Store] = [:]
    for (name, endpoint) in endpoints.sorted(by: { $0.key < $1.key }) {
      let number = alike.firstIndex { Self.areAlike($0, endpoint) } ?? alike.count
      if number == alike.count { alike.append(endpoint) }
      let path = WebURL(endpoint: endpoint.url)?.path ?? ""
      let base = path.hasSuffix("/") ? String(path.dropLast()) : path
      let abilities = endpoint.driver.abilities
      stores[name] = Store(prefix: "\0\(number)\0\(base)/", joinsSlashes: abilities.joinsSlashes)
    }
    self.stores = stores
  }

  package func of(_ place: Place) -> String {
    guard case .remote(let name, let path) = place, let store = stores[name] else { return place.text }
    let key = store.prefix + path
    guard store.joinsSlashes, key.utf8.contains(Self.slashes) else { return key }
    return key.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.joined(separator: "/")
  }

  private static let slashes = Array("//".utf8)

  private static func areAlike(_ one: Endpoint, _ other: Endpoint) -> Bool {
    one.driver.word == other.driver.word
      && WebURL(endpoint: one.url)?.origin == WebURL(endpoint: other.url)?.origin
      && one.driver.identity(.upload, at: one.url) == other.driver.identity(.upload, at: other.url)
      && one.authentication == other.authentication && one.headers == other.headers
  }
}
