package import JobModel

/// How a kind of endpoint reaches its objects.
package enum Access<HTTP, Direct> {
  /// HTTP requests and responses as values: the engine sends them.
  case http(HTTP)
  /// Another protocol, which the kind speaks itself.
  case direct(Direct)
}

package typealias DownloadAccess = Access<any DownloadProtocol, any DirectDownload>
package typealias UploadAccess = Access<any UploadProtocol, any DirectUpload>
package typealias ListingAccess = Access<any ListingProtocol, any DirectListing>

/// A download by a kind that does not speak HTTP. A value: its source opens nothing before it is asked.
package protocol DirectDownload: DownloadTraits {
  func source(_ engine: EngineServices) -> any RemoteSource
}

/// An upload by a kind that does not speak HTTP. A value, like a download.
package protocol DirectUpload: UploadTraits {
  /// Where the file goes, for the report.
  var url: WebURL { get }
  func sink(_ engine: EngineServices) -> any RemoteSink
}

/// A listing by a kind that does not speak HTTP.
package protocol DirectListing: Sendable {
  /// - Parameter page: the mark of the page wanted; nil for the first.
  nonisolated(nonsending) func page(
    _ page: String?, of prefix: String, _ engine: EngineServices
  ) async throws -> ListedPage
}

/// What the engine gives to one transfer of a kind that does not speak HTTP. Belongs to the transfer's actor.
package struct EngineServices {
  package let authentication: Authentication
  package let policy: EffectivePolicy
  /// Lets the transfer's requests go.
  package let requests: any DirectRequests
  /// A listing has told that the source is a file.
  package let isListed: Bool
  /// Speaks SFTP for the kinds that are reached so.
  package let sftp: any SFTPService
  /// - Throws: `Failure` with `SECRET_UNAVAILABLE`.
  package let secret: @Sendable (SecretReference) async throws -> Secret
  /// Seconds since 1970.
  package let now: @Sendable () -> Double
  /// Told of what the user is to know.
  package let remark: @Sendable (Diagnostic) -> Void

  package init(
    authentication: Authentication, policy: EffectivePolicy, requests: any DirectRequests,
    isListed: Bool, sftp: any SFTPService,
    secret: @escaping @Sendable (SecretReference) async throws -> Secret,
    now: @escaping @Sendable () -> Double, remark: @escaping @Sendable (Diagnostic) -> Void
  ) {
    self.authentication = authentication
    self.policy = policy
    self.requests = requests
    self.isListed = isListed
    self.sftp = sftp
    self.secret = secret
    self.now = now
    self.remark = remark
  }
}

extension DownloadAccess {
  package var traits: any DownloadTraits {
    switch self {
    case .http(let download): download
    case .direct(let download): download
    }
  }
}

extension UploadAccess {
  package var traits: any UploadTraits {
    switch self {
    case .http(let upload): upload
    case .direct(let upload): upload
    }
  }

  package var url: WebURL {
    switch self {
    case .http(let upload): upload.url
    case .direct(let upload): upload.url
    }
  }
}
