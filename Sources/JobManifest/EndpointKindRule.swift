internal import JobModel
internal import ManifestFields

/// `type` of an endpoint and the keys that only that type has.
enum EndpointKindRule {
  static let words = ["http", "session", "s3", "presigned", "kii", "salesforce", "tus"]
  static let keys: [String: [String]] = [
    "http": [],
    "session": ["chunks"],
    "s3": [
      "region", "bucket", "addressing", "checksum", "multipart_threshold", "storage_class", "acl",
      "cache_control", "tags", "server_side_encryption", "metadata",
    ],
    "presigned": ["start", "urls", "complete", "params", "url_batch"],
    "kii": ["app_id", "app_key", "scope", "bucket"],
    "salesforce": ["api_version", "via"],
    "tus": ["metadata"],
  ]

  static func read(_ fields: Fields) -> EndpointKind? {
    guard let type = fields.value("type", word) else { return nil }
    switch type {
    case "http": return .http
    case "session": return .session(chunks: fields.choice("chunks") ?? .index)
    case "s3": return .s3(s3(fields))
    case "presigned": return .presigned(presigned(fields))
    case "kii": return .kii(kii(fields))
    case "salesforce": return .salesforce(salesforce(fields))
    default: return .tus(metadata: tusMetadata(fields))
    }
  }

  private static func word(_ text: String) throws(ValueFault) -> String {
    guard !words.contains(text) else { return text }
    let near = NearMiss.of(text, among: words)
    throw ValueFault(
      "there is no endpoint type `\(text)`",
      hint: ["webdav", "dav", "https"].contains(text)
        ? "write `http`: it downloads by GET and uploads by PUT"
        : near.map { "did you mean `\($0)`?" } ?? "one of \(words.joined(separator: ", "))")
  }

  private static func s3(_ fields: Fields) -> S3Settings {
    fields.require("bucket")
    var settings = S3Settings()
    settings.region = fields.text("region") ?? settings.region
    settings.bucket = fields.text("bucket") ?? ""
    settings.addressing = fields.choice("addressing") ?? settings.addressing
    settings.checksum = fields.choice("checksum") ?? settings.checksum
    settings.multipartThreshold = fields.size("multipart_threshold") ?? settings.multipartThreshold
    settings.storageClass = fields.value("storage_class", HeaderRule.value)
    settings.acl = fields.value("acl", HeaderRule.value)
    settings.cacheControl = fields.value("cache_control", HeaderRule.value)
    settings.tags = fields.texts("tags") ?? [:]
    settings.serverSideEncryption = fields.value("server_side_encryption", HeaderRule.value)
    settings.metadata = metadata(fields)
    return settings
  }

  /// Sent as headers `x-amz-meta-NAME`.
  private static func metadata(_ fields: Fields) -> [String: String] {
    let metadata = fields.texts("metadata") ?? [:]
    for (name, value) in metadata.sorted(by: { $0.key < $1.key })
    where !HeaderSetting.isToken(name) || !HeaderSetting.isSafe(value: value) {
      fields.error("the metadata `\(name)` can't be sent as a header", at: "metadata")
    }
    return metadata
  }

  /// Sent in `Upload-Metadata`: ASCII keys without spaces and commas, values in base64 (tus 1.0.0, creation).
  private static func tusMetadata(_ fields: Fields) -> [String: String] {
    let metadata = fields.texts("metadata") ?? [:]
    for name in metadata.keys.sorted() {
      if name.isEmpty || name.utf8.contains(where: { $0 <= 32 || $0 >= 127 || $0 == UInt8(ascii: ",") }) {
        fields.error("the metadata key `\(name)` is not ASCII without spaces and commas", at: "metadata")
      } else if name == "filename" || name == "filetype" {
        fields.error(
          "`\(name)` in the metadata is each transfer's own: the text after `NAME:`, and `content_type`",
          at: "metadata")
      }
    }
    return metadata
  }

  private static func presigned(_ fields: Fields) -> PresignedSettings {
    var settings = PresignedSettings()
    settings.start = fields.value("start", route) ?? settings.start
    settings.urls = fields.value("urls", route) ?? settings.urls
    settings.complete = fields.value("complete", route) ?? settings.complete
    settings.parameters = fields.texts("params") ?? [:]
    for name in ["fileHash", "fileName", "fileSize"] where settings.parameters[name] != nil {
      fields.error("the parameter `\(name)` is haul's to send", at: "params", hint: "choose another name")
    }
    settings.urlBatch = fields.integer("url_batch", 1...1000) ?? settings.urlBatch
    return settings
  }

  private static func route(_ text: String) throws(ValueFault) -> String {
    if text.hasPrefix("/") { return text }
    if text.lowercased().hasPrefix("http") { return try URLRule.absolute(text) }
    throw ValueFault("`\(text)` is neither a path nor a URL", hint: "like `/startUpload`")
  }

  private static func kii(_ fields: Fields) -> KiiSettings {
    fields.require("app_id", "app_key", "bucket")
    var settings = KiiSettings()
    settings.appID = fields.text("app_id") ?? ""
    settings.appKey = SecretRule.read("app_key", in: fields)
    settings.bucket = fields.text("bucket") ?? ""
    settings.scope = fields.value("scope", scope) ?? settings.scope
    return settings
  }

  private static func scope(_ text: String) throws(ValueFault) -> KiiSettings.Scope {
    if text == "app" { return .app }
    let parts = text.split(separator: ":", maxSplits: 1)
    if parts.count == 2 {
      switch parts[0] {
      case "user": return .user(String(parts[1]))
      case "group": return .group(String(parts[1]))
      case "thing": return .thing(String(parts[1]))
      default: break
      }
    }
    throw ValueFault("`\(text)` is not a scope", hint: "`app`, `user:ID`, `group:ID` or `thing:ID`")
  }

  private static func salesforce(_ fields: Fields) -> SalesforceSettings {
    var settings = SalesforceSettings()
    settings.via = fields.choice("via") ?? settings.via
    settings.apiVersion =
      fields.value("api_version") { text throws(ValueFault) in
        guard text.hasPrefix("v"), Units.decimal(text.dropFirst()) != nil else {
          throw ValueFault("`\(text)` is not an API version", hint: "like `v62.0`")
        }
        return text
      } ?? settings.apiVersion
    return settings
  }
}
