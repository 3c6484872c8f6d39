package import JobModel

/// Downloads of object bodies from Kii Cloud: `Range` with `If-Match` (wire facts A, Download).
package struct KiiDownload: DownloadProtocol {
  package let url: WebURL
  private let objectID: String

  package init(base: WebURL, settings: KiiSettings, objectID: String) {
    self.init(url: KiiBody.url(base: base, settings: settings, objectID: objectID), objectID: objectID)
  }

  init(url: WebURL, objectID: String) {
    self.url = url
    self.objectID = objectID
  }

  package func remoteID(of object: RemoteObject) -> String? { objectID }

  /// Answered with 204: version and type, and no length.
  package func probe() -> Request { Request("HEAD", url, headers: ["Accept": "*/*"]) }

  package func probed(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    guard (200...299).contains(response.status) else {
      return .failure(refusal(response, doing: "look at the body", now: now))
    }
    var object = ObjectFacts.read(response.head, now: now)
    // A length of this answer is that of its own empty body.
    if response.status == 204 { object.size = nil }
    object.servesRanges = true
    return .success(object)
  }

  /// The first request asks for everything: a ranged answer need not tell the size, a whole one does. What follows a
  /// break asks for ranges.
  package func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request {
    var headers: HeaderList = ["Accept": "*/*", "Accept-Encoding": "identity"]
    if let range, object.size != nil {
      headers.append("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
    }
    if let tag = object.etag { headers.append("If-Match", tag) }
    return Request("GET", url, headers: headers)
  }

  package func judge(
    _ head: ResponseHead, wanted: Range<Int64>?, object: RemoteObject, seen: RemoteObject, now: Double
  ) -> RangeResponse {
    switch head.status {
    case 200 where wanted?.lowerBound == 0 && object.size == nil && seen.size ?? 0 > 0 && head.carriesWhole:
      // No range was asked for.
      guard object.isSameVersion(as: seen), let size = seen.size else { return .changed(seen) }
      return .bytes(0..<size)
    case 206 where head.headers["Content-Range"] == nil:
      guard let wanted, let length = head.headers["Content-Length"].flatMap({ ByteCount.read($0) }),
        length == Int64(wanted.count)
      else { break }
      guard object.isSameVersion(as: seen) else { return .changed(seen) }
      return .bytes(wanted)
    default: break
    }
    return RangeResponse.judge(head, wanted: wanted, object: object, seen: seen, url: url, now: now)
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    let failure = KiiError.failure(response, doing: what, now: now)
    // Kii's word for what 412 says elsewhere.
    return failure.code == .remoteChanged ? failure.classed(.objectChanged) : failure
  }
}
