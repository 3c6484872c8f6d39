/// What a server says of an object: enough to fetch ranges of one version of it and to verify them.
package struct RemoteObject: Sendable, Hashable {
  /// Bytes; nil where the server does not say.
  package var size: Int64?
  /// The entity tag as sent, quotes and `W/` included (RFC 9110, 8.8.3).
  package var etag: String?
  /// Last-Modified as sent (RFC 9110, 8.8.2).
  package var lastModified: String?
  /// Last-Modified is a strong validator: at least a second older than the answer's Date (RFC 9110, 8.8.2.2).
  package var lastModifiedIsStrong = false
  package var contentType: String?
  package var contentEncoding: String?
  package var version: String?
  /// The name that the server gives the bytes, as sent.
  package var fileName: String?
  /// Whole-file digests that the server offers; lower-case hex.
  package var digests: [DigestAlgorithm: String] = [:]
  package var attributes = ObjectAttributes()
  /// What else the protocol must remember to fetch this version, by its own names.
  package var facts: [String: String] = [:]
  /// nil until an answer has shown it.
  package var servesRanges: Bool?

  package init() {}

  package var hasStrongETag: Bool {
    guard let etag else { return false }
    return !etag.hasPrefix("W/") && etag.count > 2
  }

  /// Requests name its version: another object has its name now.
  package var isPinned: Bool { facts["pinned"] != nil }

  /// Its metadata and its bytes have tags of two kinds, which say nothing of each other: none is kept, and its digest tells its
  /// version.
  package var hasTagsApart: Bool {
    get { facts["tags"] != nil }
    set { facts["tags"] = newValue ? "apart" : nil }
  }

  /// What to send in If-Range, if anything may be (RFC 9110, 13.1.5: strong validators only).
  package var rangeValidator: String? {
    if hasStrongETag { return etag }
    return etag == nil && lastModifiedIsStrong ? lastModified : nil
  }

  /// Whether an answer speaks of the same version, as far as both say anything.
  package func isSameVersion(as other: RemoteObject) -> Bool {
    if let mine = size, let theirs = other.size, mine != theirs { return false }
    if let mine = version, let theirs = other.version, mine != theirs { return false }
    // Not every server gives other bytes another tag.
    for (algorithm, digest) in digests {
      if let theirs = other.digests[algorithm], theirs != digest { return false }
    }
    if let mine = etag, let theirs = other.etag { return ETag.bare(mine) == ETag.bare(theirs) }
    if let mine = lastModified, let theirs = other.lastModified { return mine == theirs }
    return true
  }

  /// Whether the strongest mark that both have is one: tag, version, time. Nil where they have none in common.
  package func hasMark(of other: RemoteObject) -> Bool? {
    if let mine = etag, let theirs = other.etag { return ETag.bare(mine) == ETag.bare(theirs) }
    if let mine = version, let theirs = other.version { return mine == theirs }
    if let mine = lastModified, let theirs = other.lastModified { return mine == theirs }
    return nil
  }

  /// Something tells this version from another.
  package var isIdentified: Bool { etag != nil || lastModified != nil || version != nil || !digests.isEmpty }
}
