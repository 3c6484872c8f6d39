import JobLedger
package import JobModel
package import Protocols

/// Which protocol value speaks for a place: the one switch over endpoint types.
package enum ProtocolChoice {
  /// The protocol's word for a place, as the report shows it.
  package static func word(_ place: Place, endpoints: [String: Endpoint]) -> String {
    switch place {
    case .remote(let name, _): endpoints[name]?.kind.word ?? "http"
    case .url, .local: "http"
    }
  }

  package static func endpoint(_ place: Place, endpoints: [String: Endpoint]) -> Endpoint? {
    switch place {
    case .remote(let name, _): endpoints[name]
    case .url, .local: nil
    }
  }

  /// The origin that a transfer will ask first; nil where it can't be told.
  static func origin(of transfer: LedgerTransfer, endpoints: [String: Endpoint]) -> String? {
    switch transfer.settings.direction == .download ? transfer.source : transfer.destination {
    case .remote(let name, _): endpoints[name].flatMap { WebURL($0.url)?.origin }
    case .url(let text): WebURL(text)?.origin
    case .local: nil
    }
  }

  package static func download(
    _ place: Place, endpoints: [String: Endpoint]
  ) throws(Failure) -> any DownloadProtocol {
    let (url, path, kind) = try parts(place, endpoints)
    guard let kind, let path else { return HTTPDownload(url: url) }
    switch kind {
    case .http: return HTTPDownload(url: url.appending(WebURL.encode(path)))
    case .session: return SessionDownload(base: url, path: path)
    case .s3, .presigned, .kii, .salesforce, .tus: throw notYet(kind)
    }
  }

  package static func upload(_ place: Place, endpoints: [String: Endpoint]) throws(Failure)
    -> any UploadProtocol
  {
    let (url, path, kind) = try parts(place, endpoints)
    guard let kind, let path else { return HTTPUpload(url: url) }
    switch kind {
    case .http: return HTTPUpload(url: url.appending(WebURL.encode(path)))
    case .session(let form): return SessionUpload(base: url, fileName: path, form: form)
    case .s3, .presigned, .kii, .salesforce, .tus: throw notYet(kind)
    }
  }

  private static func parts(
    _ place: Place, _ endpoints: [String: Endpoint]
  ) throws(Failure) -> (WebURL, String?, EndpointKind?) {
    switch place {
    case .url(let text):
      guard let url = WebURL(text) else { throw Failure(.internal, "the URL can't be read") }
      return (url, nil, nil)
    case .remote(let name, let path):
      guard let endpoint = endpoints[name], let url = WebURL(endpoint.url) else {
        throw Failure(.internal, "the endpoint `\(name)` is not in the manifest")
      }
      return (url, path, endpoint.kind)
    case .local(let path): throw Failure(.internal, "`\(path)` is no remote place")
    }
  }

  private static func notYet(_ kind: EndpointKind) -> Failure {
    Failure(.protocolViolation, "endpoints of type `\(kind.word)` are not yet in effect")
  }
}
