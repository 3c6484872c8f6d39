/// Where a bucket and its keys are: `host/bucket/key` or `bucket.host/key`.
package struct S3Address: Sendable, Hashable {
  package let bucket: String
  /// The bucket itself, for listings.
  package let root: WebURL

  package init(base: WebURL, settings: S3Settings) {
    bucket = settings.bucket
    var url = base
    url.query = nil
    let folder = base.path.hasSuffix("/") ? String(base.path.dropLast()) : base.path
    if Self.isVirtual(base, settings) {
      url.host = "\(settings.bucket).\(base.host)"
      url.path = folder + "/"
    } else {
      url.path = folder + "/" + WebURL.encode(settings.bucket, keepingSlash: false)
    }
    root = url
  }

  /// A key is literal text: a leading `/`, `//` and `..` are part of it.
  package func url(_ key: String) -> WebURL {
    var url = root
    url.path = (root.path.hasSuffix("/") ? root.path : root.path + "/") + WebURL.encode(key)
    return url
  }

  private static func isVirtual(_ base: WebURL, _ settings: S3Settings) -> Bool {
    switch settings.addressing {
    case .path: return false
    case .virtual: return true
    case .auto:
      let hasPort = base.port != (base.scheme == "https" ? 443 : 80)
      let isAddress = base.host.hasPrefix("[") || base.host.allSatisfy { $0.isNumber || $0 == "." }
      // A name that is no label of a host can't be one; a dot in it would not match the wildcard certificate.
      let isLabel = settings.bucket.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
      }
      return !hasPort && !isAddress && base.host != "localhost" && isLabel
    }
  }
}
