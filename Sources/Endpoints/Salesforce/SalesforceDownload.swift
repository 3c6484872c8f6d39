package import JobModel

/// Downloads of Salesforce Files: a metadata query for size, MD5 and version, then ranges of that version, from
/// `VersionData`, the Shepherd servlet or Connect Files (wire facts, D).
///
/// A document's id means its latest version when it is first asked; from then on that version is fetched.
package struct SalesforceDownload: DownloadProtocol {
  private let base: WebURL
  private let id: SalesforceID
  private let settings: SalesforceSettings

  /// - Parameter base: the instance's URL.
  package init(base: WebURL, id: SalesforceID, settings: SalesforceSettings) {
    self.base = base
    self.id = id
    self.settings = settings
  }

  package var url: WebURL {
    var known = RemoteObject()
    if id.kind == .version { known.version = id.text }
    return place(of: known)
  }

  package var promisedDigests: Set<DigestAlgorithm> { [.md5] }

  package func remoteID(of object: RemoteObject) -> String? { object.version }

  package func describe(_ known: RemoteObject) -> Request? { query(version: known.version) }

  package func probe() -> Request { query(version: nil) }

  private func query(version: String?) -> Request {
    let pinned = version ?? (id.kind == .version ? id.text : nil)
    // Ids are letters and digits: nothing in them can end the quotes.
    let filter = pinned.map { "Id = '\($0)'" } ?? "ContentDocumentId = '\(id.text)' AND IsLatest = true"
    let fields =
      "Id, ContentDocumentId, Title, PathOnClient, FileExtension, ContentSize, Checksum, VersionNumber, IsLatest"
    var url = data("query")
    url.query =
      "q=" + WebURL.encode("SELECT \(fields) FROM ContentVersion WHERE \(filter)", keepingSlash: false)
    return Request("GET", url, headers: ["Accept": "application/json"])
  }

  package func probed(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    let what = "query the metadata of `\(id.text)`"
    guard (200...299).contains(response.status) else {
      return .failure(refusal(response, doing: what, now: now))
    }
    guard let records = response.object?["records"].array else {
      if SalesforceResponse.isPage(response.head) { return .failure(SalesforceResponse.loginPage(response)) }
      return .failure(violation("\(response.url) did not answer the metadata query with records", response))
    }
    guard let record = records.first else {
      return .failure(
        Failure(
          .notFound, "\(what): there is no such file, or this user may not see it",
          httpStatus: response.status)
      )
    }
    guard records.count == 1, let version = record["Id"].string,
      let read = try? SalesforceID(version), read.kind == .version,
      let size = ByteCount.read(json: record["ContentSize"])
    else {
      return .failure(violation("\(response.url) gave no version with a size for `\(id.text)`", response))
    }
    var object = RemoteObject()
    object.version = version
    object.size = size
    object.fileName = name(record)
    object.facts["document"] = record["ContentDocumentId"].string
    object.facts["number"] = SalesforceResponse.text(record["VersionNumber"])
    object.facts["extension"] = record["FileExtension"].string
    // Null for some files: only the size can then be checked.
    if let told = record["Checksum"].string, !told.isEmpty {
      let digest = told.lowercased()
      guard [32, 64].contains(digest.utf8.count), digest.utf8.allSatisfy(\.isLowerHexDigit) else {
        return .failure(
          violation("\(response.url) gave \(told.utf8.count) bytes that are no MD5 as the checksum", response)
        )
      }
      object.digests[digest.utf8.count == 32 ? .md5 : .sha256] = digest
    }
    return .success(object)
  }

  private func name(_ record: JSON) -> String? {
    // The path on the uploader's machine, which may have been a Windows one.
    let path = record["PathOnClient"].string?.split { $0 == "/" || $0 == "\\" }.last.map(String.init)
    if let path, !path.isEmpty { return path }
    guard let title = record["Title"].string, !title.isEmpty else { return nil }
    guard let suffix = record["FileExtension"].string, !suffix.isEmpty else { return title }
    return "\(title).\(suffix)"
  }

  package func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request {
    RangeRequest.get(place(of: object), range, of: object)
  }

  private func place(of object: RemoteObject) -> WebURL {
    switch settings.via {
    case .versionData: return data("sobjects/ContentVersion/\(object.version ?? id.text)/VersionData")
    case .shepherd:
      guard let version = object.version else {
        return base.appending("sfc/servlet.shepherd/document/download/\(id.text)")
      }
      return base.appending("sfc/servlet.shepherd/version/download/\(version)")
    case .connect:
      var url = data("connect/files/\(object.facts["document"] ?? id.text)/content")
      url.query = object.facts["number"].map { "versionNumber=" + WebURL.encode($0, keepingSlash: false) }
      return url
    }
  }

  private func data(_ path: String) -> WebURL {
    base.appending("services/data/\(settings.apiVersion)/\(path)")
  }

  /// A status of 200 says nothing here: an expired session may be answered with a login page.
  package func judge(
    _ head: ResponseHead, wanted: Range<Int64>?, object: RemoteObject, seen: RemoteObject, now: Double
  ) -> RangeResponse {
    let place = place(of: object)
    guard head.status == 200 || head.status == 206 else {
      return RangeResponse.judge(head, wanted: wanted, object: object, seen: seen, url: place, now: now)
    }
    let fits = seen.size != nil && seen.size == object.size
    // A page of the file's very size is left to the digest, where there is one.
    let isPassable =
      fits ? isPageItself(object) || !object.digests.isEmpty : seen.size == nil && isPageItself(object)
    if SalesforceResponse.isPage(head), !isPassable {
      return .refused(SalesforceResponse.loginPage(Response(head: head, url: place)))
    }
    if let told = seen.size, let size = object.size, told != size {
      // A version never changes: this is something else than its bytes.
      return .refused(
        Failure(
          .protocolViolation,
          "\(place) answered with \(told) bytes of \(head.headers["Content-Type"] ?? "no type"), the version has \(size)",
          httpStatus: head.status, expected: String(size), actual: String(told)))
    }
    let response = RangeResponse.judge(head, wanted: wanted, object: object, seen: seen, url: place, now: now)
    // The metadata's size holds where the answer tells none.
    if case .whole(nil) = response { return .whole(length: object.size) }
    return response
  }

  /// A version never changes, so its id is the one validator: a servlet may make up the others for each answer.
  package func facts(_ head: ResponseHead, now: Double) -> RemoteObject {
    var object = ObjectFacts.read(head, now: now)
    (object.etag, object.lastModified, object.lastModifiedIsStrong) = (nil, nil, false)
    object.fileName = nil
    return object
  }

  /// The file is an HTML or JavaScript file, so that its type tells nothing.
  private func isPageItself(_ object: RemoteObject) -> Bool {
    ["html", "htm", "xhtml", "js", "mjs"].contains(object.facts["extension"]?.lowercased() ?? "")
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    SalesforceResponse.refusal(of: response, doing: what, now: now)
  }

  private func violation(_ message: String, _ response: Response) -> Failure {
    Failure(.protocolViolation, message, httpStatus: response.status)
  }
}
