import Digests
import Foundation
import JobLedger
import JobModel
import Endpoints
import Reporting
import TransferEngine

/// Protocols and URLs of places, kept in the ledger so that reports need no manifest: names, types and URLs of the
/// endpoints, nothing else of them.
struct WireNames {
  private let endpoints: [String: Endpoint]
  /// What else tells an endpoint's store, as a digest; of kinds whose URLs do not say it all.
  private let stores: [String: String]

  init(_ endpoints: [String: Endpoint]) {
    self.endpoints = endpoints
    stores = endpoints.compactMapValues(Self.store)
  }

  private static func store(_ endpoint: Endpoint) -> String? {
    switch endpoint.kind {
    // The record has their facts one by one, or in the URL.
    case .http, .session, .salesforce, .s3, .kii: return nil
    case .presigned, .tus:
      let facts = StoreIdentity.facts(endpoint, .upload, .current)
      guard facts != StoreIdentity.facts(endpoint, .upload, .first) else { return nil }
      return try? Digest.hex(of: Array(facts.joined(separator: "\0").utf8), .sha256)
    }
  }

  /// Reads what `save` wrote.
  init(_ ledger: JobLedger) throws { self.init(text: try ledger.meta("endpoints") ?? "{}") }

  init(text: String) {
    var found: [String: Endpoint] = [:]
    let members =
      (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: [String: String]] ?? [:]
    for (name, facts) in members {
      guard let url = facts["url"], let kind = facts["type"].flatMap({ Self.kind($0, facts) }) else {
        continue
      }
      found[name] = Endpoint(name: name, kind: kind, url: url)
    }
    endpoints = found
    stores = members.compactMapValues { $0["store"] }
  }

  func save(_ ledger: JobLedger) throws {
    let members = endpoints.sorted { $0.key < $1.key }.map { name, endpoint in
      JSON.Member(
        name,
        .object(
          [.init("type", .string(endpoint.kind.word)), .init("url", .string(Self.root(endpoint)))]
            + Self.facts(endpoint.kind).sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value)) }
            + (stores[name].map { [.init("store", .string($0))] } ?? [])))
    }
    try ledger.setMeta("endpoints", JSON.object(members).text)
  }

  /// Whether what is on record of an endpoint is all the same of this one.
  func describesSameStore(as endpoint: Endpoint) -> Bool {
    guard let recorded = endpoints[endpoint.name], recorded.kind.word == endpoint.kind.word else {
      return false
    }
    return recorded.url == Self.root(endpoint) && Self.facts(recorded.kind) == Self.facts(endpoint.kind)
      && stores[endpoint.name] == Self.store(endpoint)
  }

  /// The endpoint that was recorded as `text`, where that was another store than today's of its name: what was left
  /// there is ended there. It has today's credentials, which stay with their host.
  ///
  /// - Throws: `Failure` where it can't be asked any more.
  func former(_ name: String, _ text: String) throws(Failure) -> Endpoint? {
    let recorded = WireNames(text: "{\"\(name)\": \(text)}")
    guard let today = endpoints[name], today.kind.word == recorded.endpoints[name]?.kind.word,
      var former = recorded.endpoints[name]
    else { throw Failure(.internal, "the endpoint `\(name)` is another one now") }
    if recorded.describesSameStore(as: today) { return nil }
    guard let then = WebURL(former.url), let now = WebURL(today.url), then.scheme == now.scheme,
      then.port == now.port, then.host == now.host || Self.isBucket(then.host, of: now.host, today.kind)
    else { throw Failure(.internal, "the endpoint `\(name)` was at \(former.url) then") }
    (former.authentication, former.headers) = (today.authentication, today.headers)
    if case .kii(var settings) = former.kind, case .kii(let own) = today.kind {
      settings.appKey = own.appKey
      former.kind = .kii(settings)
    }
    if case .s3(var settings) = former.kind, case .s3(let own) = today.kind {
      settings.region = own.region
      former.kind = .s3(settings)
    }
    return former
  }

  private static func isBucket(_ host: String, of service: String, _ kind: EndpointKind) -> Bool {
    guard case .s3 = kind else { return false }
    return host.hasSuffix("." + service)
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

  /// What the transfer's protocol can do, as far as it is known without asking.
  func capabilities(_ transfer: LedgerTransfer) -> Capabilities? {
    let direction = transfer.settings.direction
    let place = direction == .download ? transfer.source : transfer.destination
    let word = ProtocolWord.of(place, endpoints)
    switch direction {
    case .download:
      guard let remote = try? ProtocolChoice.download(place, endpoints: endpoints) else { return nil }
      let ranges = transfer.progress.remote.servesRanges ?? (remote.promisesRanges ? true : nil)
      return Capabilities(
        protocolName: word, direction: direction, isResumable: ranges, isParallel: ranges,
        verifiedBy: remote.promisedDigests.map(\.rawValue).sorted())
    case .upload:
      guard let remote = try? ProtocolChoice.upload(place, endpoints: endpoints) else { return nil }
      let abilities = remote.abilities(of: transfer.progress.size ?? transfer.knownSize)
      return Capabilities(
        protocolName: word, direction: direction, isResumable: abilities.resumes,
        isParallel: abilities.isParallel, verifiedBy: abilities.fileDigests.map(\.rawValue).sorted())
    }
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

  /// The URL on record is the bucket's own.
  private static var recordedBucket: S3Settings {
    var settings = S3Settings()
    settings.addressing = .path
    return settings
  }

  private static func kind(_ word: String, _ facts: [String: String]) -> EndpointKind? {
    switch word {
    case "http": .http
    case "session": .session(chunks: .index)
    case "s3": .s3(recordedBucket)
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
