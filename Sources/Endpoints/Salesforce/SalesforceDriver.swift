package import JobModel
package import ManifestFields

/// Endpoints of type `salesforce`: Salesforce Files.
package struct SalesforceDriver: EndpointDriver {
  package var settings = SalesforceSettings()

  package init() {}

  package static let word = "salesforce"
  package static let abilities = EndpointAbilities(
    refused: [.upload: SalesforceID.uploadLimit], tells: [.contentType, .mtime], datesStoring: true)
  package static let keys: KeyTable<Self> = [
    .parsed("api_version", \.settings.apiVersion, pattern: #"^v[0-9]+(\.[0-9]+)?$"#, version),
    .choice("via", \.settings.via),
  ]

  private static func version(_ text: String) throws(ValueFault) -> String {
    guard text.hasPrefix("v"), Units.decimal(text.dropFirst()) != nil else {
      throw ValueFault("`\(text)` is not an API version", hint: "like `v62.0`")
    }
    return text
  }

  package func check(path: String, _ direction: Direction) throws(ValueFault) { _ = try SalesforceID(path) }

  /// The URL is the organisation's.
  package func identity(_ direction: Direction, at url: String) -> [String] { [] }

  /// What a file's URL is made of, for the report.
  package func record(at url: String) -> [String: String] {
    let usual = SalesforceSettings()
    var record: [String: String] = [:]
    if settings.apiVersion != usual.apiVersion { record["api_version"] = settings.apiVersion }
    if settings.via != usual.via { record["via"] = settings.via.rawValue }
    return record
  }

  package func isRecorded(by record: [String: String], at url: String) -> Bool { true }

  package func recorded(by record: [String: String]) -> Self {
    var recorded = Self()
    if let version = record["api_version"] { recorded.settings.apiVersion = version }
    if let via = record["via"].flatMap(SalesforceSettings.Via.init) { recorded.settings.via = via }
    return recorded
  }

  package func download(_ path: String, at url: WebURL) throws(Failure) -> any DownloadProtocol {
    let id: SalesforceID
    do { id = try SalesforceID(path) } catch { throw Failure(.notFound, error.message) }
    return SalesforceDownload(base: url, id: id, settings: settings)
  }
}

/// The keys of a `salesforce` endpoint.
package struct SalesforceSettings: Sendable, Hashable {
  package enum Via: String, Sendable, Hashable, CaseIterable {
    case versionData = "version_data"
    case shepherd, connect
  }
  package var apiVersion = "v62.0"
  package var via = Via.versionData
  package init() {}
}
