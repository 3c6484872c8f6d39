import JobLedger
package import JobModel
package import Endpoints

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
    case .kii(let settings): return KiiDownload(base: url, settings: settings, objectID: path)
    case .tus: return TusDownload(url: url.appending(WebURL.encode(path)), endpoint: url)
    case .presigned: return PresignedDownload(base: url, path: path)
    case .salesforce(let settings):
      let id: SalesforceID
      do { id = try SalesforceID(path) } catch { throw Failure(.notFound, error.message) }
      return SalesforceDownload(base: url, id: id, settings: settings)
    case .s3(let settings):
      return S3Download(address: S3Address(base: url, settings: settings), settings: settings, key: path)
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
    case .kii(let settings): return KiiUpload(base: url, settings: settings, objectID: path)
    case .tus(let metadata): return TusUpload(url: url, fileName: path, metadata: metadata)
    case .presigned(let settings): return PresignedUpload(base: url, fileName: path, settings: settings)
    case .salesforce:
      throw Failure(.protocolViolation, "endpoints of type `salesforce` take no uploads")
    case .s3(let settings):
      return S3Upload(address: S3Address(base: url, settings: settings), settings: settings, key: path)
    }
  }

  /// How an endpoint lists what lies below a prefix.
  package static func listing(_ endpoint: Endpoint) throws(Failure) -> any ListingProtocol {
    guard let url = WebURL(endpoint.url) else { throw Failure(.internal, "the URL can't be read") }
    switch endpoint.kind {
    case .s3(let settings):
      return S3Listing(address: S3Address(base: url, settings: settings), settings: settings)
    case .http, .session, .presigned, .kii, .salesforce, .tus:
      throw Failure(.protocolViolation, "endpoints of type `\(endpoint.kind.word)` can't be listed")
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
    case .local(let path): throw Failure(.internal, "`\(path)` is not a remote place")
    }
  }
}
