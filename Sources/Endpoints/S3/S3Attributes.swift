import JobModel

/// Attributes as S3's headers and documents tell them.
enum S3Attributes {
  private static let metadata = "x-amz-meta-"

  /// Adds what an answer's headers tell besides the content headers
  /// (docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html).
  static func read(_ headers: HeaderList, into attributes: inout ObjectAttributes) {
    for field in headers.fields where isMetadata(field.name) && HeaderSetting.isSafe(value: field.value) {
      attributes.metadata[String(field.name.lowercased().dropFirst(metadata.count))] = field.value
    }
    attributes.mtime = attributes.metadata[ObjectAttributes.mtimeName].flatMap(ObjectTime.nanoseconds)
    attributes.mode = attributes.metadata[ObjectAttributes.modeName].flatMap(ObjectMode.bits)
    attributes.tagCount = headers["x-amz-tagging-count"].flatMap { Int($0) }
    attributes.storageClass = headers["x-amz-storage-class"].flatMap {
      $0.isEmpty || !HeaderSetting.isSafe(value: $0) ? nil : $0
    }
  }

  /// By bytes: each answer has some ten headers, and most objects no metadata.
  private static func isMetadata(_ name: String) -> Bool {
    name.utf8.count > metadata.utf8.count && zip(name.utf8, metadata.utf8).allSatisfy { $0 | 0x20 == $1 }
  }

  /// The tags in a `Tagging` document (docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectTagging.html).
  static func tags(_ root: XMLTree.Element) -> [String: String]? {
    guard root.name == "Tagging", let set = root.all("TagSet").first else { return nil }
    var tags: [String: String] = [:]
    for tag in set.all("Tag") {
      guard let key = tag.exact("Key"), !key.isEmpty else { return nil }
      tags[key] = tag.exact("Value") ?? ""
    }
    return tags
  }

  /// Tags as `x-amz-tagging` has them: the query of a URL, in the order of the names.
  static func query(_ tags: [String: String]) -> String {
    tags.sorted { $0.key < $1.key }.map {
      WebURL.encode($0.key, keepingSlash: false) + "=" + WebURL.encode($0.value, keepingSlash: false)
    }.joined(separator: "&")
  }
}
