import JobModel

extension RemoteObject {
  /// Takes in what a later answer says of the same version.
  mutating func learn(_ seen: RemoteObject) {
    size = seen.size ?? size
    if !hasTagsApart { etag = seen.etag ?? etag }
    if seen.lastModified != nil {
      lastModified = seen.lastModified
      lastModifiedIsStrong = lastModifiedIsStrong || seen.lastModifiedIsStrong
    }
    contentType = seen.contentType ?? contentType
    contentEncoding = seen.contentEncoding ?? contentEncoding
    version = seen.version ?? version
    fileName = seen.fileName ?? fileName
    servesRanges = seen.servesRanges ?? servesRanges
    attributes.learn(seen.attributes)
    facts.merge(seen.facts) { _, new in new }
    digests.merge(seen.digests) { old, _ in old }
  }
}
