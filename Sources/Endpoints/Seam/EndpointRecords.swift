package import JobModel

/// The endpoints of a plan as the ledger keeps them: reports need no manifest, and what was left at a store that the
/// manifest no longer names can be ended there. No secret is among it.
package struct EndpointRecords {
  private let members: [String: [String: String]]
  /// As far as the records tell.
  package let endpoints: [String: Endpoint]

  package init(_ endpoints: [String: Endpoint]) {
    self.endpoints = endpoints
    members = endpoints.mapValues { endpoint in
      endpoint.driver.record(at: endpoint.url).merging(
        ["type": endpoint.driver.word, "url": endpoint.driver.root(at: endpoint.url)]
      ) { $1 }
    }
  }

  /// Reads what `text` wrote; leaves out what it can't read.
  package init(text: String) {
    let records = JSON(Array(text.utf8))?.members ?? []
    members = Dictionary(
      records.compactMap { record in record.value.dictionary.map { (record.name, $0) } },
      uniquingKeysWith: { $1 })
    var found: [String: Endpoint] = [:]
    for (name, members) in members {
      guard let url = members["url"], let kind = members["type"].flatMap(EndpointRegistry.kind) else {
        continue
      }
      found[name] = Endpoint(name: name, driver: kind.init().recorded(by: Self.own(members)), url: url)
    }
    endpoints = found
  }

  package var text: String {
    JSON.object(
      members.sorted { $0.key < $1.key }.map { name, members in
        let first = ["type", "url"].map { JSON.Member($0, .text(members[$0])) }
        return JSON.Member(
          name,
          .object(
            first + Self.own(members).sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value)) }))
      }
    ).text
  }

  private static func own(_ members: [String: String]) -> [String: String] {
    members.filter { $0.key != "type" && $0.key != "url" }
  }

  /// Has more on record of an endpoint than kind and URL.
  package func tellsStore(of name: String) -> Bool { !Self.own(members[name] ?? [:]).isEmpty }

  /// Whether what is on record of an endpoint is all the same of this one.
  package func describesSameStore(as endpoint: Endpoint) -> Bool {
    guard let members = members[endpoint.name], members["type"] == endpoint.driver.word else { return false }
    return members["url"] == endpoint.driver.root(at: endpoint.url)
      && endpoint.driver.isRecorded(by: Self.own(members), at: endpoint.url)
  }

  /// The endpoint that was recorded as `text`, where that was another store than today's of its name: what was left
  /// there is ended there. It has today's credentials, which stay with their host.
  ///
  /// - Throws: `Failure` where it can't be asked any more.
  package func former(_ name: String, _ text: String) throws(Failure) -> Endpoint? {
    let recorded = EndpointRecords(text: "{\"\(name)\": \(text)}")
    guard let today = endpoints[name], today.driver.word == recorded.endpoints[name]?.driver.word,
      var former = recorded.endpoints[name]
    else { throw Failure(.internal, "the endpoint `\(name)` is another one now") }
    if recorded.describesSameStore(as: today) { return nil }
    guard let then = WebURL(endpoint: former.url), let now = WebURL(endpoint: today.url),
      then.scheme == now.scheme,
      then.port == now.port, type(of: today.driver).isHost(then.host, of: now.host)
    else { throw Failure(.internal, "the endpoint `\(name)` was at \(former.url) then") }
    (former.authentication, former.headers) = (today.authentication, today.headers)
    former.driver = today.driver.recorded(by: Self.own(recorded.members[name] ?? [:]))
    return former
  }
}
