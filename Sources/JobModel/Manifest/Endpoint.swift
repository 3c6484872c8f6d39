/// A named remote of the manifest.
package struct Endpoint: Sendable, Hashable {
  package var name: String
  package var kind: EndpointKind
  /// Absolute http(s) URL, without a trailing slash.
  package var url: String
  package var authentication: Authentication
  /// What the endpoint's own `policy` and `tls` keys say, not yet merged with other levels.
  package var policy: Policy
  package var policyName: String?
  package var headers: [HeaderSetting]

  package init(
    name: String, kind: EndpointKind, url: String, authentication: Authentication = .none,
    policy: Policy = Policy(), policyName: String? = nil, headers: [HeaderSetting] = []
  ) {
    self.name = name
    self.kind = kind
    self.url = url
    self.authentication = authentication
    self.policy = policy
    self.policyName = policyName
    self.headers = headers
  }
}

/// The protocol that an endpoint speaks, with the keys that only it has.
package enum EndpointKind: Sendable, Hashable {
  case http
  case session(chunks: SessionChunkForm)
  case s3(S3Settings)
  case presigned(PresignedSettings)
  case kii(KiiSettings)
  case salesforce(SalesforceSettings)
  case tus(metadata: [String: String])

  /// The word in the manifest's `type` and in the report's `protocol`.
  package var word: String {
    switch self {
    case .http: "http"
    case .session: "session"
    case .s3: "s3"
    case .presigned: "presigned"
    case .kii: "kii"
    case .salesforce: "salesforce"
    case .tus: "tus"
    }
  }
}

/// `chunks: index` puts each chunk at `…/chunks/{index}`, `range` at `…/chunks` told by Content-Range alone.
package enum SessionChunkForm: String, Sendable, Hashable, CaseIterable { case index, range }

package struct S3Settings: Sendable, Hashable {
  package enum Addressing: String, Sendable, Hashable, CaseIterable { case auto, path, virtual }
  package enum Checksum: String, Sendable, Hashable, CaseIterable { case crc64nvme, sha256, none }
  package var region = "us-east-1"
  package var bucket = ""
  package var addressing = Addressing.auto
  package var checksum = Checksum.crc64nvme
  package var multipartThreshold: Int64 = 16 << 20
  package var storageClass: String?
  package var acl: String?
  package var cacheControl: String?
  package var tags: [String: String] = [:]
  package var serverSideEncryption: String?
  package var metadata: [String: String] = [:]
  package init() {}
}

package struct PresignedSettings: Sendable, Hashable {
  package var start = "/startUpload"
  package var urls = "/getUploadUrls"
  package var complete = "/complete"
  package var parameters: [String: String] = [:]
  package var urlBatch = 4
  package init() {}
}

package struct KiiSettings: Sendable, Hashable {
  package enum Scope: Sendable, Hashable {
    case app
    case user(String)
    case group(String)
    case thing(String)
  }
  package var appID = ""
  package var appKey: SecretReference?
  package var scope = Scope.app
  package var bucket = ""
  package init() {}
}

package struct SalesforceSettings: Sendable, Hashable {
  package enum Via: String, Sendable, Hashable, CaseIterable {
    case versionData = "version_data"
    case shepherd, connect
  }
  package var apiVersion = "v62.0"
  package var via = Via.versionData
  package init() {}
}

extension EndpointKind {
  /// Can name what lies below a prefix.
  package var canList: Bool {
    switch self {
    case .s3: true
    case .http, .session, .presigned, .kii, .salesforce, .tus: false
    }
  }

  /// Offers a digest of what was uploaded, or checks one: what `verify: required` needs. A tus server may; what it
  /// says of itself decides.
  package var provesUploads: Bool {
    switch self {
    // Salesforce takes no uploads. A presigning back end's store tells each part's MD5, as its ETag, in most set-ups.
    case .http, .kii, .salesforce: false
    case .session, .s3, .presigned, .tus: true
    }
  }

  /// An upload can be read back, and what stands at a destination can be asked for.
  package var readsBack: Bool {
    switch self {
    // The back end makes up a new key for each upload, and offers no request for what lies under it.
    case .presigned, .salesforce: false
    case .http, .session, .s3, .kii, .tus: true
    }
  }

  /// Headers that the protocol wants on every request, a secret among them.
  package var headers: [HeaderSetting] {
    switch self {
    case .kii(let settings):
      [HeaderSetting(name: "X-Kii-AppID", value: .text(settings.appID))]
        + (settings.appKey.map { [HeaderSetting(name: "X-Kii-AppKey", value: .secret($0))] } ?? [])
    case .http, .session, .s3, .presigned, .salesforce, .tus: []
    }
  }
}
