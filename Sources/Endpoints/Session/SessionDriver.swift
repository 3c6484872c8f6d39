package import JobModel
package import ManifestFields

/// Endpoints of type `session`: the chunk-session API.
package struct SessionDriver: EndpointDriver {
  package var chunks = SessionChunkForm.index

  package init() {}

  package static let word = "session"
  package static let abilities = EndpointAbilities(
    provesUploads: true, readsBack: true, digestsReplaceETags: true, mostConnections: 256,
    tells: [.contentType, .mtime], keeps: [.contentType], datesStoring: true)
  package static let keys: KeyTable<Self> = [.choice("chunks", \.chunks)]

  /// The URL says it all.
  package func identity(_ direction: Direction, at url: String) -> [String] { [] }

  package func download(_ path: String, at url: WebURL) -> any DownloadProtocol {
    SessionDownload(base: url, path: path)
  }

  package func upload(_ path: String, at url: WebURL) -> any UploadProtocol {
    SessionUpload(base: url, fileName: path, form: chunks)
  }
}

/// `chunks: index` puts each chunk at `…/chunks/{index}`, `range` at `…/chunks` told by Content-Range alone.
package enum SessionChunkForm: String, Sendable, Hashable, CaseIterable { case index, range }
