package import Endpoints
package import JobModel

/// The proxies that an environment names, read as libcurl reads them (curl(1), ENVIRONMENT).
package struct ProxyEnvironment: Sendable, Hashable {
  private var http: String?
  private var https: String?
  private var exceptions: [String] = []

  package static let empty = ProxyEnvironment([:])

  package init(_ variables: [String: String]) {
    func value(_ names: String...) -> String? {
      names.lazy.compactMap { variables[$0] }.first { !$0.isEmpty }
    }
    let all = value("all_proxy", "ALL_PROXY")
    // HTTP_PROXY in capitals may come from a request's `Proxy` header where a web server starts programs.
    http = value("http_proxy") ?? all
    https = value("https_proxy", "HTTPS_PROXY") ?? all
    exceptions = (value("no_proxy", "NO_PROXY") ?? "").lowercased()
      .split { $0 == "," || $0.isWhitespace }.map(String.init)
  }

  /// Has the passwords in the proxies' addresses masked, as they are written there.
  package func teaching(_ mask: SecretMask) -> ProxyEnvironment {
    for address in [http, https].compactMap(\.self) {
      let start = address.firstRange(of: "://")?.upperBound ?? address.startIndex
      guard let at = address[start...].lastIndex(of: "@"), let colon = address[start..<at].firstIndex(of: ":")
      else { continue }
      let (user, password) = (address[start..<colon], address[address.index(after: colon)..<at])
      mask.learn(user: String(user), password: Secret(String(password)))
      // One that is too short to be looked for alone.
      if password.utf8.count < SecretMask.shortest { mask.learn(plain: String(address[start...at])) }
    }
    return self
  }

  /// What is wrong with a proxy's address, without its words: they may be secret. Nil where it can be connected to.
  package static func fault(in address: String) -> String? {
    let mark = address.firstRange(of: "://")
    if let mark, !schemes.contains(address[..<mark.lowerBound].lowercased()) {
      return "has a scheme that is none of `http`, `https`, `socks4`, `socks4a`, `socks5`, `socks5h`"
    }
    let authority = address[(mark?.upperBound ?? address.startIndex)...].prefix { !"/?#".contains($0) }
    let at = authority.lastIndex(of: "@")
    let place = at.map { authority[authority.index(after: $0)...] } ?? authority
    let isBracketed = place.hasPrefix("[")
    let end =
      isBracketed
      ? place.firstIndex(of: "]").map { place.index(after: $0) } : place.firstIndex(of: ":")
    let (host, port) = (place[..<(end ?? place.endIndex)], place[(end ?? place.endIndex)...].dropFirst())
    guard !host.isEmpty, !host.contains(where: \.isWhitespace), !isBracketed || end != nil,
      port.isEmpty || (UInt16(port) ?? 0) > 0
    else { return "has no valid host and port" }
    return nil
  }

  /// As libcurl knows them; an address without one is of `http`.
  private static let schemes: Set = ["http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h"]

  /// The proxy for a URL; nil where there is none, or the URL's host is an exception.
  package func proxy(for url: WebURL) -> String? {
    guard let proxy = url.scheme == "https" ? https : http, !isException(url.host) else { return nil }
    return proxy
  }

  /// Whether `NO_PROXY` names the host: itself, a domain above it, a CIDR around it, or `*`.
  package func isException(_ host: String) -> Bool {
    var name = host.lowercased()
    if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
    if name.hasSuffix(".") { name.removeLast() }
    let address = IPAddress(name)
    return exceptions.contains { entry in
      if entry == "*" { return true }
      if let address { return (try? AddressBlock(Self.bare(entry)))?.contains(address) ?? false }
      var domain = entry
      if domain.hasPrefix(".") { domain.removeFirst() }
      if domain.hasSuffix(".") { domain.removeLast() }
      return !domain.isEmpty && (name == domain || name.hasSuffix("." + domain))
    }
  }

  private static func bare(_ entry: String) -> String {
    entry.hasPrefix("[") && entry.hasSuffix("]") ? String(entry.dropFirst().dropLast()) : entry
  }
}
