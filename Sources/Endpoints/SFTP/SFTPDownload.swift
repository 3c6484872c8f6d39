package import JobModel

/// A download over SFTP: size and modification time are the version, ranges are read by offset.
package struct SFTPDownload: DirectDownload {
  package let url: WebURL
  /// Below the endpoint's URL.
  package let path: String
  package let file: SFTPPath
  package let trust: SFTPTrust

  init(_ path: String, at root: WebURL, _ trust: SFTPTrust) {
    url = root.appending(WebURL.encode(path))
    file = SFTPPath(path, below: root)
    (self.path, self.trust) = (path, trust)
  }

  package var promisesRanges: Bool { true }

  package func source(_ engine: EngineServices) -> any RemoteSource { engine.sftp.source(self, engine) }

  /// What a server says of a file, as a version of it.
  package static func object(_ attributes: SFTPAttributes) -> RemoteObject {
    var object = RemoteObject()
    object.size = attributes.bytes
    object.servesRanges = true
    if let time = attributes.modified {
      object.version = String(time)
      object.lastModified = HTTPDate.text(Int64(time))
      object.attributes.mtime = Int64(time) * 1_000_000_000
    }
    // What a server says makes no file run as its owner.
    object.attributes.mode = attributes.mode.map { UInt16($0 & 0o777) }
    return object
  }

  /// Why what stands there is no file to read; nil where it is one.
  package func objection(to attributes: SFTPAttributes) -> Failure? {
    switch attributes.kind {
    case .file?, nil: nil
    case .folder?:
      Failure(.notFound, "\(url) is a folder: write `/` behind it to take what lies in it")
    case .link?, .special?:
      Failure(.notFound, "\(url) is a pipe, a device or a link, which can't be read as a file: leave it out")
    }
  }
}
