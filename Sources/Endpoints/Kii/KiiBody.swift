/// Where an object's body stands in Kii Cloud (docs.kii.com, REST: object body): scope, bucket, object.
package enum KiiBody {
  /// - Parameters:
  ///   - base: ends in `/api`.
  ///   - objectID: literal.
  package static func url(base: WebURL, settings: KiiSettings, objectID: String) -> WebURL {
    let scope: String =
      switch settings.scope {
      case .app: ""
      case .user(let id): "/users/" + scopeID(id)
      case .group(let id): "/groups/" + scopeID(id)
      case .thing(let id): "/things/" + scopeID(id)
      }
    func encoded(_ text: String) -> String { WebURL.encode(text, keepingSlash: false) }
    return base.appending(
      "apps/\(encoded(settings.appID))\(scope)/buckets/\(encoded(settings.bucket))/objects/\(encoded(objectID))/body"
    )
  }

  /// `EMAIL:a@b.c` and `VENDOR_THING_ID:x` keep their colon, as the documentation writes them.
  private static func scopeID(_ id: String) -> String {
    id.split(separator: ":", omittingEmptySubsequences: false).map {
      WebURL.encode(String($0), keepingSlash: false)
    }.joined(separator: ":")
  }
}
