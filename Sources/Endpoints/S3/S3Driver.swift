package import JobModel
package import ManifestFields

/// Endpoints of type `s3`: S3 and compatible stores.
package struct S3Driver: EndpointDriver {
  package var settings = S3Settings()

  package init() {}
  package init(_ settings: S3Settings) { self.settings = settings }

  package static let word = "s3"
  package static let abilities = EndpointAbilities(
    lists: true, listsVersions: true, hasInventories: true, provesUploads: true, readsBack: true,
    mostConnections: 256,
    tells: Set(Attribute.allCases), keeps: Set(Attribute.allCases), datesStoring: true,
    takes: Set(GivenKey.allCases))
  package static let keys: KeyTable<Self> = [
    .text("region", \.settings.region),
    .text("bucket", \.settings.bucket, isRequired: true),
    .choice("addressing", \.settings.addressing),
    .choice("checksum", \.settings.checksum),
    .size("multipart_threshold", \.settings.multipartThreshold),
    .header("storage_class", \.settings.storageClass).ofObject,
    .header("acl", \.settings.acl).ofObject,
    .header("cache_control", \.settings.cacheControl).ofObject,
    .texts("tags", \.settings.tags).ofObject,
    .header("server_side_encryption", \.settings.serverSideEncryption).ofObject,
    .texts(
      "metadata", \.settings.metadata, names: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", fault: metadataFault
    ).ofObject,
  ]

  /// Sent as headers `x-amz-meta-NAME`.
  private static func metadataFault(_ name: String, _ value: String) -> ValueFault? {
    HeaderSetting.isToken(name) && HeaderSetting.isSafe(value: value)
      ? nil : ValueFault("the metadata `\(name)` can't be sent as a header")
  }

  package func identity(_ direction: Direction, at url: String) -> [String] {
    [settings.bucket] + unusualRoot(url)
  }

  /// The bucket's URL where `addressing` makes it another than haul chooses by itself.
  private func unusualRoot(_ url: String) -> [String] {
    guard let url = WebURL(url) else { return [] }
    var usual = settings
    usual.addressing = .auto
    let root = S3Address(base: url, settings: settings).root
    return root == S3Address(base: url, settings: usual).root ? [] : [root.text]
  }

  package var bucketName: String? { settings.bucket }
  package var firstIdentity: [String] { [settings.bucket] }

  package func root(at url: String) -> String {
    WebURL(url).map { S3Address(base: $0, settings: settings).root.text } ?? url
  }

  /// The URL on record is the bucket's own.
  package func recorded(by record: [String: String]) -> Self {
    var recorded = Self()
    recorded.settings.addressing = .path
    recorded.settings.region = settings.region
    return recorded
  }

  /// A bucket's own host.
  package static func isHost(_ host: String, of service: String) -> Bool {
    host == service || host.hasSuffix("." + service)
  }

  package var signer: (any RequestSigner)? { S3Signer(region: settings.region) }

  package func download(_ path: String, at url: WebURL) -> any DownloadProtocol {
    S3Download(address: S3Address(base: url, settings: settings), settings: settings, key: path)
  }

  package func upload(_ path: String, at url: WebURL) -> any UploadProtocol {
    S3Upload(address: S3Address(base: url, settings: settings), settings: settings, key: path)
  }

  package func serviceCopy(
    of source: String, on other: any EndpointDriver, to path: String, at url: WebURL
  ) -> (any UploadProtocol)? {
    guard let other = other as? Self, other.settings.region == settings.region,
      other.settings.bucket != settings.bucket || source != path
    else { return nil }
    return S3ServiceCopy(
      of: source, in: other.settings.bucket, to: path,
      address: S3Address(base: url, settings: settings), settings: settings)
  }

  package func listing(at url: WebURL) -> any ListingProtocol {
    S3Listing(address: S3Address(base: url, settings: settings), settings: settings)
  }
}
