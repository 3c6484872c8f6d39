package import JobModel
package import ManifestFields

/// Endpoints of type `presigned`: a back end that hands out signed URLs.
package struct PresignedDriver: EndpointDriver {
  package var settings = PresignedSettings()

  package init() {}

  package static let word = "presigned"
  /// The back end makes up a new key for each upload, and offers no request for what lies under it. Its store tells each
  /// part's MD5, as its ETag, in most set-ups.
  package static let abilities = EndpointAbilities(
    provesUploads: true, mostConnections: 256, tells: [.contentType, .contentHeaders, .mtime],
    datesStoring: true)
  package static let keys: KeyTable<Self> = [
    .parsed("start", \.settings.start, pattern: routePattern, route),
    .parsed("urls", \.settings.urls, pattern: routePattern, route),
    .parsed("complete", \.settings.complete, pattern: routePattern, route),
    .texts(
      "params", \.settings.parameters, names: "^(?!(fileHash|fileName|fileSize)$)", fault: parameterFault),
    .integer("url_batch", 1...1000, \.settings.urlBatch),
  ]

  private static let routePattern = "^(/|[Hh][Tt][Tt][Pp][Ss]?://)"

  private static func route(_ text: String) throws(ValueFault) -> String {
    if text.hasPrefix("/") { return text }
    if text.lowercased().hasPrefix("http") { return try URLRule.absolute(text) }
    throw ValueFault("`\(text)` is neither a path nor a URL", hint: "like `/startUpload`")
  }

  private static func parameterFault(_ name: String, _ value: String) -> ValueFault? {
    ["fileHash", "fileName", "fileSize"].contains(name)
      ? ValueFault("the parameter `\(name)` is haul's to send", hint: "choose another name") : nil
  }

  /// Of a download the path below the URL says it all.
  package func identity(_ direction: Direction, at url: String) -> [String] {
    switch direction {
    case .download: []
    case .upload:
      [settings.start, settings.urls, settings.complete] + StoreIdentity.pairs(settings.parameters)
    }
  }

  /// `start` for the report, as uploads begin there, without a query, which may be a secret; the rest only tells the store.
  package func record(at url: String) -> [String: String] {
    var record: [String: String] = [:]
    record["store"] = StoreIdentity.digest(self, at: url)
    if settings.start != PresignedSettings().start {
      record["start"] = String(Substring(settings.start.utf8.prefix { $0 != 0x3F }))
    }
    return record
  }

  package func isRecorded(by record: [String: String], at url: String) -> Bool {
    record["store"] == StoreIdentity.digest(self, at: url)
  }

  package func recorded(by record: [String: String]) -> Self {
    var recorded = Self()
    if let start = record["start"] { recorded.settings.start = start }
    return recorded
  }

  package func download(_ path: String, at url: WebURL) -> any DownloadProtocol {
    PresignedDownload(base: url, path: path)
  }

  package func upload(_ path: String, at url: WebURL) -> any UploadProtocol {
    PresignedUpload(base: url, fileName: path, settings: settings)
  }
}

/// The keys of a `presigned` endpoint.
package struct PresignedSettings: Sendable, Hashable {
  package var start = "/startUpload"
  package var urls = "/getUploadUrls"
  package var complete = "/complete"
  package var parameters: [String: String] = [:]
  package var urlBatch = 4
  package init() {}
}
