package import JobModel
package import ManifestFields

/// Endpoints of type `kii`: object bodies in Kii Cloud.
package struct KiiDriver: EndpointDriver {
  package var settings = KiiSettings()

  package init() {}

  package static let word = "kii"
  package static let abilities = EndpointAbilities(
    readsBack: true, mostConnections: 256, tells: [.contentType, .mtime], keeps: [.contentType],
    datesStoring: true)
  package static let keys: KeyTable<Self> = [
    .text("app_id", \.settings.appID, isRequired: true),
    .secret("app_key", \.settings.appKey, isRequired: true),
    .parsed("scope", \.settings.scope, pattern: "^(app$|(user|group|thing):.)", scope),
    .text("bucket", \.settings.bucket, isRequired: true),
  ]

  private static func scope(_ text: String) throws(ValueFault) -> KiiSettings.Scope {
    guard let scope = KiiSettings.Scope(text) else {
      throw ValueFault("`\(text)` is not a scope", hint: "`app`, `user:ID`, `group:ID` or `thing:ID`")
    }
    return scope
  }

  package static func check(url: String) throws(ValueFault) {
    guard !url.hasSuffix("/api") else { return }
    throw ValueFault("the URL of a `kii` endpoint ends in `/api`", hint: "\(url)/api")
  }

  package func identity(_ direction: Direction, at url: String) -> [String] {
    [settings.appID, settings.bucket, settings.scope.text]
  }

  /// What the objects' URLs are made of.
  package func record(at url: String) -> [String: String] {
    var record = ["app_id": settings.appID, "bucket": settings.bucket]
    switch settings.scope {
    case .app: break
    case .user(let id): record["user"] = id
    case .group(let id): record["group"] = id
    case .thing(let id): record["thing"] = id
    }
    return record
  }

  package func recorded(by record: [String: String]) -> Self {
    var recorded = Self()
    recorded.settings.appID = record["app_id"] ?? ""
    recorded.settings.bucket = record["bucket"] ?? ""
    recorded.settings.appKey = settings.appKey
    if let id = record["user"] { recorded.settings.scope = .user(id) }
    if let id = record["group"] { recorded.settings.scope = .group(id) }
    if let id = record["thing"] { recorded.settings.scope = .thing(id) }
    return recorded
  }

  package var headers: [HeaderSetting] {
    [HeaderSetting(name: "X-Kii-AppID", value: .text(settings.appID))]
      + (settings.appKey.map { [HeaderSetting(name: "X-Kii-AppKey", value: .secret($0))] } ?? [])
  }

  package func download(_ path: String, at url: WebURL) -> any DownloadProtocol {
    KiiDownload(base: url, settings: settings, objectID: path)
  }

  package func upload(_ path: String, at url: WebURL) -> any UploadProtocol {
    KiiUpload(base: url, settings: settings, objectID: path)
  }
}

/// The keys of a `kii` endpoint.
package struct KiiSettings: Sendable, Hashable {
  package var appID = ""
  package var appKey: SecretReference?
  package var scope = Scope.app
  package var bucket = ""
  package init() {}

  package enum Scope: Sendable, Hashable {
    case app
    case user(String)
    case group(String)
    case thing(String)

    /// As the manifest writes it.
    init?(_ text: String) {
      let parts = text.split(separator: ":", maxSplits: 1)
      switch (text, parts.first, parts.dropFirst().first) {
      case ("app", _, _): self = .app
      case (_, "user", let id?): self = .user(String(id))
      case (_, "group", let id?): self = .group(String(id))
      case (_, "thing", let id?): self = .thing(String(id))
      default: return nil
      }
    }

    var text: String {
      switch self {
      case .app: "app"
      case .user(let id): "user:\(id)"
      case .group(let id): "group:\(id)"
      case .thing(let id): "thing:\(id)"
      }
    }
  }
}
