package import JobModel
package import ManifestFields

/// Endpoints of type `tus`.
package struct TusDriver: EndpointDriver {
  /// What uploads are told besides `filename` and `filetype`.
  package var metadata: [String: String] = [:]
  /// Uploads are created at a URL that ends in a slash, as tusd's does.
  package private(set) var endsInSlash = false

  package init() {}

  package mutating func noteTrailingSlash() { endsInSlash = true }

  package static let word = "tus"
  package static let abilities = EndpointAbilities(
    provesUploads: true, readsBack: true, mostConnections: 256,
    tells: [.contentType, .contentHeaders, .mtime], keeps: [.contentType, .metadata], datesStoring: true,
    takes: [.metadata])
  package static let keys: KeyTable<Self> = [
    .texts("metadata", \.metadata, names: #"^(?!(filename|filetype)$)[!-+\--~]+$"#, fault: metadataFault)
  ]

  /// Sent in `Upload-Metadata`: ASCII keys without spaces and commas, values in base64 (tus 1.0.0, creation).
  private static func metadataFault(_ name: String, _ value: String) -> ValueFault? {
    if name.isEmpty || name.utf8.contains(where: { $0 <= 32 || $0 >= 127 || $0 == UInt8(ascii: ",") }) {
      return ValueFault("the metadata key `\(name)` is not ASCII without spaces and commas")
    }
    guard name == "filename" || name == "filetype" else { return nil }
    return ValueFault(
      "`\(name)` in the metadata is each transfer's own: the text after `NAME:`, and `content_type`")
  }

  /// Services read the bucket from the metadata of an upload.
  package func identity(_ direction: Direction, at url: String) -> [String] {
    direction == .download ? [] : StoreIdentity.pairs(metadata)
  }

  package func record(at url: String) -> [String: String] {
    guard !metadata.isEmpty, let digest = StoreIdentity.digest(self, at: url) else { return [:] }
    return ["store": digest]
  }

  package func download(_ path: String, at url: WebURL) -> any DownloadProtocol {
    TusDownload(url: url.appending(WebURL.encode(path)), endpoint: url)
  }

  package func upload(_ path: String, at url: WebURL) -> any UploadProtocol {
    var url = url
    if endsInSlash, !url.path.hasSuffix("/") { url.path += "/" }
    return TusUpload(url: url, fileName: path, metadata: metadata)
  }
}
