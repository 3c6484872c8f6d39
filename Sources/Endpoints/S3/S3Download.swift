package import JobModel

/// Downloads from S3: the first range's answer tells size and version, and the checksum where it has the whole object; else a
/// HEAD does. Ranges are asked for with `If-Match`, so that they are of one version or refused (docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html).
package struct S3Download: DownloadProtocol {
  package let url: WebURL
  private let key: String
  private let settings: S3Settings

  package init(address: S3Address, settings: S3Settings, key: String) {
    url = address.url(key)
    self.key = key
    self.settings = settings
  }

  package var followsRedirects: Bool { false }
  package var firstRangeDescribes: Bool { true }

  package func remoteID(of object: RemoteObject) -> String? { "\(settings.bucket)/\(key)" }

  /// A version never changes: to read the bytes of one that is pinned, nothing more has to be known.
  package func describe(_ known: RemoteObject) -> Request? { known.isPinned ? nil : probe() }

  /// Not before the name has another object: a version may need a right of its own (`s3:GetObjectVersion`).
  package func pinned(_ object: RemoteObject) -> RemoteObject? {
    guard object.version != nil, object.size != nil, !object.isPinned else { return nil }
    var pinned = object
    pinned.facts["pinned"] = "1"
    return pinned
  }

  package func askTags(of object: RemoteObject) -> Request? {
    var target = target(of: object)
    target.query = (["tagging="] + [target.query].compactMap(\.self)).joined(separator: "&")
    return Request("GET", target, headers: ["x-amz-content-sha256": S3Payload.empty])
  }

  package func tags(_ response: Response, now: Double) -> Result<[String: String], Failure> {
    guard response.status == 200, S3Error.error(in: response) == nil else {
      return .failure(refusal(response, doing: "ask for the tags", now: now))
    }
    guard let tags = XMLTree.read(response.body).flatMap(S3Attributes.tags) else {
      return .failure(
        Failure(
          .protocolViolation, "\(response.url) did not answer with tags", class: .permanent,
          httpStatus: response.status))
    }
    return .success(tags)
  }

  package func probe() -> Request { probe(of: RemoteObject()) }

  package func probe(of known: RemoteObject) -> Request {
    Request(
      "HEAD", target(of: known),
      headers: ["x-amz-checksum-mode": "ENABLED", "x-amz-content-sha256": S3Payload.empty])
  }

  /// Names the version of one that is pinned.
  private func target(of object: RemoteObject) -> WebURL {
    var target = url
    if object.isPinned, let version = object.version {
      target.query = "versionId=" + WebURL.encode(version, keepingSlash: false)
    }
    return target
  }

  /// An answer to HEAD has no body, and the reason is in the body.
  package func question(after response: Response, to request: Request) -> Request? {
    guard request.method == "HEAD", [400, 403, 404, 405, 501].contains(response.status) else { return nil }
    return Request(
      "GET", request.url,
      headers: ["Accept-Encoding": "identity", "Range": "bytes=0-0", "x-amz-content-sha256": S3Payload.empty])
  }

  package func probed(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    switch response.status {
    case 200...299, 416: .success(facts(response.head, now: now))
    default: .failure(refusal(response, doing: "look at the object", now: now))
    }
  }

  package func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request {
    var headers: HeaderList = ["Accept-Encoding": "identity", "x-amz-content-sha256": S3Payload.empty]
    if let range { headers.append("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)") }
    if range?.lowerBound ?? 0 == 0 { headers.append("x-amz-checksum-mode", "ENABLED") }
    // S3 knows no If-Range; a version that is gone is refused with 412.
    if object.hasStrongETag, let etag = object.etag { headers.append("If-Match", etag) }
    return Request("GET", target(of: object), headers: headers)
  }

  package func facts(_ head: ResponseHead, now: Double) -> RemoteObject { S3Facts.read(head, now: now) }

  package func judge(
    _ head: ResponseHead, wanted: Range<Int64>?, object: RemoteObject, seen: RemoteObject, now: Double
  ) -> RangeResponse {
    // The version is gone, or may not be read: the object that has the name now is left. 400 says that a token expired.
    if object.isPinned, [403, 404, 405].contains(head.status) { return .changed(RemoteObject()) }
    // A name that was deleted has its versions still.
    if head.status == 404, pinned(object) != nil { return .changed(RemoteObject()) }
    switch head.status {
    case 200 where Self.isErrorDocument(head):
      return .refused(
        Failure(
          .serverError, "\(url) answered 200 with XML that has no `ETag`: an error, not an object",
          httpStatus: 200))
    // Only an empty object has no first byte, and not every store tells its size then.
    case 416 where wanted?.lowerBound == 0 && seen.size == nil && object.size == nil: return .nothing(size: 0)
    case 200, 206, 412, 416:
      return RangeResponse.judge(head, wanted: wanted, object: object, seen: seen, url: url, now: now)
    default: return .refused(refusal(Response(head: head, url: url), doing: "download", now: now))
    }
  }

  /// Some gateways send an `<Error>` with 200: an object has an ETag.
  private static func isErrorDocument(_ head: ResponseHead) -> Bool {
    head.headers["ETag"] == nil && head.headers["Last-Modified"] == nil
      && head.headers["Content-Type"]?.lowercased().contains("xml") == true
  }

  package func refuses(_ response: Response) -> Bool { response.status >= 300 }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    S3Error.of(response, doing: what, settings: settings, now: now)
  }
}

/// What an answer's headers say of an object.
enum S3Facts {
  static func read(_ head: ResponseHead, now: Double) -> RemoteObject {
    var object = ObjectFacts.read(head, now: now)
    if let version = head.headers["x-amz-version-id"], version != "null" { object.version = version }
    S3Attributes.read(head.headers, into: &object.attributes)
    // A ranged answer's checksum may be that of a part, but for a range that is all there is.
    if head.spansWhole {
      object.digests.merge(S3Checksums.read(head.headers)) { _, new in new }
    }
    return object
  }
}
