import Endpoints
import JobModel

/// The values in the queries of the URLs that one transfer asked last: a server may echo a signature without its URL.
///
/// Belongs to one transfer's actor.
final class QuerySecrets {
  /// Bytes; what is shorter is found in ordinary words.
  private static let shortest = 8
  /// Queries that are kept: each chunk may be redirected to a new one.
  private static let most = 32
  /// A type that the URL asks for is not a secret.
  private static let types = ["application/", "audio/", "image/", "text/", "video/"]

  private var queries: [String] = []
  private var masks: (all: SecretMask, credentials: SecretMask)?

  func learn(_ query: String?) {
    guard let query, queries.last != query else { return }
    if let index = queries.firstIndex(of: query) {
      queries.append(queries.remove(at: index))
      return
    }
    queries = queries.suffix(Self.most - 1) + [query]
    masks = nil
  }

  /// Nothing is masked: most URLs have no query.
  var isEmpty: Bool { queries.isEmpty }

  /// For what a server wrote.
  var all: SecretMask { made().all }

  /// For what haul wrote, and for what it goes by: names and versions may stand in queries too.
  var credentials: SecretMask { made().credentials }

  private func made() -> (all: SecretMask, credentials: SecretMask) {
    if let masks { return masks }
    let made = (all: SecretMask(), credentials: SecretMask())
    for part in queries.flatMap({ $0.utf8.split(separator: UInt8(ascii: "&")) }) {
      let mark = part.firstIndex(of: UInt8(ascii: "="))
      let name = mark.map { WebURL.decode(Substring(part[..<$0])).lowercased() } ?? ""
      let value = WebURL.decode(Substring(mark.map { part[part.index(after: $0)...] } ?? part))
      guard value.utf8.count >= Self.shortest, !Self.types.contains(where: value.hasPrefix) else { continue }
      // In a form's coding a plus is a blank.
      for text in [value, value.replacing("+", with: " ")] {
        made.all.learn(plain: text)
        if SigningParameters.names.contains(name) { made.credentials.learn(plain: text) }
      }
    }
    masks = made
    return made
  }
}

extension RemoteObject {
  /// Without what echoes the query that it was asked for with.
  func without(_ secrets: QuerySecrets) -> RemoteObject {
    guard !secrets.isEmpty else { return self }
    var object = without(secrets.credentials)
    if contentType.map(secrets.all.finds) == true { object.contentType = nil }
    if contentEncoding.map(secrets.all.finds) == true { object.contentEncoding = nil }
    return object
  }
}
