package import JobModel
package import ManifestFields

/// Endpoints of type `webdav`: WebDAV servers (RFC 4918), Nextcloud and ownCloud among them.
package struct WebDAVDriver: EndpointDriver {
  package init() {}

  package static let word = "webdav"
  package static let abilities = EndpointAbilities(
    lists: true, readsBack: true, digestsReplaceETags: true,
    tells: [.contentType, .contentHeaders, .mtime], keeps: [.contentType], joinsSlashes: true,
    filesHaveURLs: true)
  package static let keys: KeyTable<Self> = []

  package static func hint(for word: String) -> String? {
    ["dav", "davs", "nextcloud", "owncloud"].contains(word) ? "write `webdav`" : nil
  }

  /// Uploads make folders, rename and delete: a path that leaves the endpoint's URL would do so elsewhere.
  package func check(path: String, _ direction: Direction) throws(ValueFault) {
    let names = path.utf8.split(separator: UInt8(ascii: "/"))
    guard names.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else { return }
    throw ValueFault("`\(path)` has a folder `.` or `..`", hint: "write the path below the endpoint's `url`")
  }

  /// The URL says it all.
  package func identity(_ direction: Direction, at url: String) -> [String] { [] }

  package func download(_ path: String, at url: WebURL) -> any DownloadProtocol {
    WebDAVDownload(url: url.appending(WebURL.encode(path)))
  }

  package func upload(_ path: String, at url: WebURL) -> any UploadProtocol {
    WebDAVUpload(path: path, root: url)
  }

  package func listing(at url: WebURL) -> any ListingProtocol { WebDAVListing(root: url) }
}
