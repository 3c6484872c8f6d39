package import JobModel
package import ManifestFields

/// Endpoints of type `http`: any web server.
package struct HTTPDriver: EndpointDriver {
  package init() {}

  package static let word = "http"
  package static let abilities = EndpointAbilities(
    readsBack: true, digestsReplaceETags: true, tells: [.contentType, .contentHeaders, .mtime],
    keeps: [.contentType], joinsSlashes: true, filesHaveURLs: true)
  package static let keys: KeyTable<Self> = []

  package static func hint(for word: String) -> String? {
    word == "https" ? "write `http`: it downloads by GET and uploads by PUT" : nil
  }

  /// The URL says it all.
  package func identity(_ direction: Direction, at url: String) -> [String] { [] }

  package func download(_ path: String, at url: WebURL) -> any DownloadProtocol {
    HTTPDownload(url: url.appending(WebURL.encode(path)))
  }

  package func upload(_ path: String, at url: WebURL) -> any UploadProtocol {
    HTTPUpload(url: url.appending(WebURL.encode(path)))
  }
}
