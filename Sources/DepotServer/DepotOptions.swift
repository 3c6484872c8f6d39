/// Everything the command line decides.
package struct DepotOptions: Sendable {
  /// The folder that is served.
  package var root: String
  package var host = "127.0.0.1"
  /// 0 picks a free one.
  package var port = 8080
  /// The bearer token that every request must carry.
  package var token: String?
  package var sessionTTL: Duration = .seconds(86_400)
  /// The largest chunk in bytes.
  package var maxChunk = 16 << 20
  /// The fault file's path.
  package var faults: String?
  package var accessLog: String?

  package init(root: String) {
    self.root = root
  }

  /// Sets host and port from `HOST:PORT`, `[V6]:PORT` or `PORT`.
  package mutating func setListen(_ text: String) throws {
    let colon = text.lastIndex(of: ":")
    let portText = colon.map { text[text.index(after: $0)...] } ?? text[...]
    guard let port = UInt16(portText) else {
      throw DepotError.usage("--listen \(text): expected HOST:PORT, for example 127.0.0.1:8080")
    }
    self.port = Int(port)
    guard let colon else { return }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty else {
      throw DepotError.usage("--listen \(text): the host is missing; 0.0.0.0 listens everywhere")
    }
    self.host = String(host)
  }

  /// Whether only this machine can reach the server.
  var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}
