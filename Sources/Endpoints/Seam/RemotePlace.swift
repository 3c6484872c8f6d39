package import JobModel

/// The remote side of a transfer: a path on an endpoint, or a URL by itself.
package struct RemotePlace: Sendable {
  /// Nil for a URL by itself.
  package let endpoint: Endpoint?
  /// The endpoint's, or the place itself.
  package let url: WebURL
  /// On the endpoint.
  private let path: String?

  package init(_ place: Place, endpoints: [String: Endpoint]) throws(Failure) {
    switch place {
    case .url(let text):
      guard let url = WebURL(text) else {
        throw Failure(.internal, "the URL `\(Masked.text(text))` can't be read")
      }
      (self.endpoint, self.url, path) = (nil, url, nil)
    case .remote(let name, let path):
      guard let endpoint = endpoints[name], let url = WebURL(endpoint: endpoint.url) else {
        throw Failure(
          .internal,
          "the endpoint `\(name)` is not in the manifest any more: declare it again, or take the transfer out"
        )
      }
      (self.endpoint, self.url, self.path) = (endpoint, url, path)
    case .local(let path): throw Failure(.internal, "`\(path)` is not a remote place")
    }
  }

  /// - Throws: where nothing can be downloaded from there.
  package func download() throws(Failure) -> DownloadAccess {
    guard let endpoint, let path else { return .http(HTTPDownload(url: url)) }
    return try endpoint.driver.downloadAccess(path, at: url)
  }

  /// - Throws: where nothing can be uploaded to there.
  package func upload() throws(Failure) -> UploadAccess {
    guard let endpoint, let path else { return .http(HTTPUpload(url: url)) }
    return try endpoint.driver.uploadAccess(path, at: url)
  }

  /// The copy that the service makes by itself where both places are at one service, under one credential; nil where bytes
  /// have to pass through haul.
  package func serviceCopy(of source: RemotePlace) -> UploadAccess? {
    guard let endpoint, let path, let other = source.endpoint, let itsPath = source.path,
      endpoint.url == other.url, endpoint.authentication == other.authentication,
      endpoint.headers == other.headers
    else { return nil }
    return endpoint.driver.serviceCopy(of: itsPath, on: other.driver, to: path, at: url).map { .http($0) }
  }

  /// The URL that is asked for a transfer's bytes, for the report.
  package func url(_ direction: Direction) -> WebURL? {
    switch direction {
    case .download: try? download().traits.url
    case .upload: try? upload().url
    }
  }

  /// The driver that speaks for a place; of an endpoint that is not there, and of a local path, the web's.
  package static func driver(_ place: Place, _ endpoints: [String: Endpoint]) -> any EndpointDriver {
    switch place {
    case .remote(let name, _): endpoints[name]?.driver ?? EndpointRegistry.web
    case .url, .local: EndpointRegistry.web
    }
  }
}
