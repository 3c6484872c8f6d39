import JobModel

/// What an object is stored with, said when it is created: the endpoint's keys, over them what comes from the source, over
/// both what the transfer says.
enum S3ObjectHeaders {
  static func of(_ settings: S3Settings, _ source: UploadSource) -> HeaderList {
    let (preserved, given) = (source.preserved, source.given)
    var headers: HeaderList = ["Content-Type": source.contentType]
    func add(_ name: String, _ value: String?) { if let value { headers.append(name, value) } }
    var content = preserved.headers
    content[.cacheControl] = content[.cacheControl] ?? settings.cacheControl
    for header in ContentHeader.allCases { add(header.rawValue, content[header]) }
    add("x-amz-acl", settings.acl)
    add("x-amz-server-side-encryption", settings.serverSideEncryption)
    add("x-amz-storage-class", given.storageClass ?? preserved.storageClass ?? settings.storageClass)
    let tags = tags(settings, source)
    if !tags.isEmpty { headers.append("x-amz-tagging", S3Attributes.query(tags)) }
    for (name, value) in metadata(settings, source).sorted(by: { $0.key < $1.key }) {
      headers.append("x-amz-meta-" + name, value)
    }
    return headers
  }

  static func tags(_ settings: S3Settings, _ source: UploadSource) -> [String: String] {
    settings.tags.merging(source.preserved.tags ?? [:]) { $1 }.merging(source.given.tags) { $1 }
  }

  private static func metadata(_ settings: S3Settings, _ source: UploadSource) -> [String: String] {
    let preserved = source.preserved
    var metadata: [String: String] = [:]
    func lay(_ upper: [String: String]) {
      for (name, value) in upper { metadata[name.lowercased()] = value }
    }
    lay(settings.metadata)
    // The source's own words for time and mode stay as they are.
    if let time = preserved.mtime { lay([ObjectAttributes.mtimeName: ObjectTime.text(time)]) }
    if let mode = preserved.mode { lay([ObjectAttributes.modeName: ObjectMode.text(mode)]) }
    lay(preserved.metadata)
    lay(source.given.metadata)
    return metadata
  }
}
