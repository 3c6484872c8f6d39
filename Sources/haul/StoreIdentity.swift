import JobModel
import Endpoints

/// What tells the store behind an endpoint from others: progress belongs to it. Each kind says it, there is no default.
enum StoreIdentity {
  /// Which facts count. The ledger says under which form its identities were made.
  enum Form: String {
    /// Of haul 0.1: type, URL and an S3 bucket.
    case first = "1"
    case current = "2"
  }

  static func facts(_ endpoint: Endpoint, _ direction: Direction, _ form: Form) -> [String] {
    let common = [endpoint.kind.word, endpoint.url]
    switch form {
    case .first:
      guard case .s3(let settings) = endpoint.kind else { return common }
      return common + [settings.bucket]
    case .current: return common + own(endpoint, direction)
    }
  }

  private static func own(_ endpoint: Endpoint, _ direction: Direction) -> [String] {
    switch endpoint.kind {
    // The URL says it all; Salesforce's is the organisation's.
    case .http, .session, .salesforce: []
    case .s3(let settings): [settings.bucket] + unusualRoot(endpoint, settings)
    case .kii(let settings): [settings.appID, settings.bucket, scope(settings.scope)]
    // Of a download the path below the URL says it all.
    case .presigned(let settings):
      direction == .download
        ? [] : [settings.start, settings.urls, settings.complete] + pairs(settings.parameters)
    // Services read the bucket from it.
    case .tus(let metadata): direction == .download ? [] : pairs(metadata)
    }
  }

  /// The bucket's URL where `addressing` makes it another than haul chooses by itself.
  private static func unusualRoot(_ endpoint: Endpoint, _ settings: S3Settings) -> [String] {
    guard let url = WebURL(endpoint.url) else { return [] }
    var usual = settings
    usual.addressing = .auto
    let root = S3Address(base: url, settings: settings).root
    return root == S3Address(base: url, settings: usual).root ? [] : [root.text]
  }

  private static func scope(_ scope: KiiSettings.Scope) -> String {
    switch scope {
    case .app: "app"
    case .user(let id): "user:\(id)"
    case .group(let id): "group:\(id)"
    case .thing(let id): "thing:\(id)"
    }
  }

  /// Names and values in turn: a NUL between all of them keeps them apart.
  private static func pairs(_ values: [String: String]) -> [String] {
    values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.flatMap { [$0.key, $0.value] }
  }
}
