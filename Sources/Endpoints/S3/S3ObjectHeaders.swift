import JobModel

/// What an object is stored with, said when it is created.
enum S3ObjectHeaders {
  static func of(_ settings: S3Settings, _ source: UploadSource) -> HeaderList {
    var headers: HeaderList = ["Content-Type": source.contentType]
    func add(_ name: String, _ value: String?) { if let value { headers.append(name, value) } }
    add("Cache-Control", settings.cacheControl)
    add("x-amz-acl", settings.acl)
    add("x-amz-server-side-encryption", settings.serverSideEncryption)
    add("x-amz-storage-class", settings.storageClass)
    if !settings.tags.isEmpty {
      let pairs = settings.tags.sorted { $0.key < $1.key }.map {
        WebURL.encode($0.key, keepingSlash: false) + "=" + WebURL.encode($0.value, keepingSlash: false)
      }
      headers.append("x-amz-tagging", pairs.joined(separator: "&"))
    }
    for (name, value) in settings.metadata.sorted(by: { $0.key < $1.key }) {
      headers.append("x-amz-meta-" + name.lowercased(), value)
    }
    return headers
  }
}
