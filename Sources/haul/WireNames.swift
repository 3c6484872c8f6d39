import Foundation
import JobLedger
import JobModel
import Protocols

/// Protocols and URLs of places, kept in the ledger so that reports need no manifest: names, types and URLs of the
/// endpoints, nothing else of them.
struct WireNames {
  private let endpoints: [String: Endpoint]

  init(_ endpoints: [String: Endpoint]) { self.endpoints = endpoints }

  /// Reads what `save` wrote.
  init(_ ledger: JobLedger) throws {
    var found: [String: Endpoint] = [:]
    let text = try ledger.meta("endpoints") ?? "{}"
    let members =
      (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: [String: String]] ?? [:]
    for (name, facts) in members {
      guard let url = facts["url"], let kind = facts["type"].flatMap({ Self.kind($0, facts) }) else {
        continue
      }
      found[name] = Endpoint(name: name, kind: kind, url: url)
    }
    endpoints = found
  }

  func save(_ ledger: JobLedger) throws {
    let members = endpoints.sorted { $0.key < $1.key }.map { name, endpoint in
      JSON.Member(
        name,
        .object(
          [.init("type", .string(endpoint.kind.word)), .init("url", .string(Self.root(endpoint)))]
            + Self.facts(endpoint.kind).sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value)) }))
    }
    try ledger.setMeta("endpoints", JSON.object(members).text)
  }

  /// What paths lie below: of a bucket, the bucket.
  private static func root(_ endpoint: Endpoint) -> String {
    guard case .s3(let settings) = endpoint.kind, let url = WebURL(endpoint.url) else { return endpoint.url }
    return S3Address(base: url, settings: settings).root.text
  }

  func describe(_ transfer: LedgerTransfer) -> (protocol: String, url: String?) {
    let place = transfer.settings.direction == .download ? transfer.source : transfer.destination
    let url: WebURL?
    switch place {
    case .local: url = nil
    case .url(let text): url = WebURL(text)
    case .remote(let name, let path):
      let base = endpoints[name].flatMap { WebURL($0.url) }
      switch endpoints[name]?.kind {
      case .session: url = base?.appending("files/" + WebURL.encode(path))
      case .kii(let settings):
        url = base.map { KiiBody.url(base: $0, settings: settings, objectID: path) }
      // What is uploaded gets a URL of its own, the transfer's `remote_id`.
      case .tus where transfer.settings.direction == .upload: url = base
      case .http, .s3, .presigned, .salesforce, .tus, nil: url = base?.appending(WebURL.encode(path))
      }
    }
    return (ProtocolWord.of(place, endpoints), url?.description)
  }

  /// What else of an endpoint its URLs are made of; no secret.
  private static func facts(_ kind: EndpointKind) -> [String: String] {
    guard case .kii(let settings) = kind else { return [:] }
    var facts = ["app_id": settings.appID, "bucket": settings.bucket]
    switch settings.scope {
    case .app: break
    case .user(let id): facts["user"] = id
    case .group(let id): facts["group"] = id
    case .thing(let id): facts["thing"] = id
    }
    return facts
  }

  private static func kii(_ facts: [String: String]) -> KiiSettings {
    var settings = KiiSettings()
    settings.appID = facts["app_id"] ?? ""
    settings.bucket = facts["bucket"] ?? ""
    if let id = facts["user"] { settings.scope = .user(id) }
    if let id = facts["group"] { settings.scope = .group(id) }
    if let id = facts["thing"] { settings.scope = .thing(id) }
    return settings
  }

  private static func kind(_ word: String, _ facts: [String: String]) -> EndpointKind? {
    switch word {
    case "http": .http
    case "session": .session(chunks: .index)
    case "s3": .s3(S3Settings())
    case "presigned": .presigned(PresignedSettings())
    case "kii": .kii(kii(facts))
    case "salesforce": .salesforce(SalesforceSettings())
    case "tus": .tus(metadata: [:])
    default: nil
    }
  }
}

enum ProtocolWord {
  static func of(_ place: Place, _ endpoints: [String: Endpoint]) -> String {
    switch place {
    case .remote(let name, _): endpoints[name]?.kind.word ?? "http"
    case .url, .local: "http"
    }
  }
}
