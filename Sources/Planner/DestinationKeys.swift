package import Endpoints
package import JobModel

/// What tells one destination from others, whatever its spelling: two endpoints may be names of one store, one may lie
/// below another, and an absolute URL may name a file of either.
package struct DestinationKeys: Sendable {
  private struct Store: Sendable {
    /// Begins with a NUL: no local path does.
    let prefix: String
    /// The server, where an absolute URL names what a path does; whatever the credentials.
    let server: String?
    /// Of the endpoint's URL; ends in `/`.
    let folder: String
    let joinsSlashes: Bool

    func path(_ path: String) -> String {
      joinsSlashes ? RelativePath.normalize(folder + path) : folder + path
    }
  }
  private let stores: [String: Store]

  package init(_ endpoints: [String: Endpoint]) {
    var accounts: [String: [Endpoint]] = [:]
    var stores: [String: Store] = [:]
    for (name, endpoint) in endpoints.sorted(by: { $0.key < $1.key }) {
      let driver = endpoint.driver
      let url = WebURL(endpoint: endpoint.url)
      let server = "\0" + (url?.origin ?? "")
      let identity = [server, driver.word] + driver.identity(.upload, at: endpoint.url)
      let store = driver.abilities.filesHaveURLs ? server : identity.joined(separator: "\0")
      let account = Self.account(of: endpoint, in: &accounts[store, default: []])
      let path = url.map(Self.path) ?? "/"
      stores[name] = Store(
        prefix: account == 0 ? store : "\(store)\0\(account)",
        server: driver.abilities.filesHaveURLs ? server : nil,
        folder: path.utf8.last == UInt8(ascii: "/") ? path : path + "/",
        joinsSlashes: driver.abilities.joinsSlashes)
    }
    self.stores = stores
  }

  package func of(_ place: Place) -> String {
    switch place {
    case .local: return place.text
    case .url(let text):
      guard let url = WebURL(text) else { return text }
      return "\0" + url.origin + Self.path(url)
    case .remote(let name, let path):
      guard let store = stores[name] else { return place.text }
      return store.prefix + store.path(path)
    }
  }

  /// What a place is called below a prefix; nil where it lies elsewhere.
  package func path(of place: Place, below prefix: Place) -> String? {
    let (key, folder) = (of(place).utf8, of(prefix).utf8)
    return key.starts(with: folder) ? String(Substring(key.dropFirst(folder.count))) : nil
  }

  /// Whether both are the file of one URL, whatever the credentials.
  package func haveOneURL(_ one: Place, _ other: Place) -> Bool {
    guard let other = url(other), let one = url(one) else { return false }
    return ByteText(one) == ByteText(other)
  }

  /// Nil where no URL names what the path does.
  private func url(_ place: Place) -> String? {
    switch place {
    case .local: return nil
    case .url: return of(place)
    case .remote(let name, let path):
      guard let store = stores[name], let server = store.server else { return nil }
      return server + store.path(path)
    }
  }

  /// Other credentials may be another account, with files of its own. An endpoint without any is taken for the first
  /// account's, as an absolute URL is.
  private static func account(of endpoint: Endpoint, in accounts: inout [Endpoint]) -> Int {
    if endpoint.authentication == .none, endpoint.headers.isEmpty { return 0 }
    let number = accounts.firstIndex {
      $0.authentication == endpoint.authentication && $0.headers == endpoint.headers
    }
    guard let number else {
      accounts.append(endpoint)
      return accounts.count - 1
    }
    return number
  }

  /// A URL's path as an endpoint's is written, and its query, each told from the other by a NUL.
  private static func path(_ url: WebURL) -> String {
    let path = RelativePath.normalize(literal(url.path))
    guard let query = url.query, !query.isEmpty else { return path }
    return path + "\0?" + query
  }

  /// Percent-decoded where that is text. An encoded slash is no slash.
  private static func literal(_ path: String) -> String {
    guard path.utf8.contains(UInt8(ascii: "%")) else { return path }
    let text = path.replacing("%2F", with: "\0").replacing("%2f", with: "\0")
    return WebURL.decodesToText(text) ? WebURL.decode(text) : path
  }
}
