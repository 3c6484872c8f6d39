package import Endpoints
import JobModel

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
