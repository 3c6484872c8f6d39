package import JobModel

/// Downloads of finished uploads from a tus server that serves them: plain GETs, which the protocol leaves open.
/// HEAD is tus's own and tells of the upload.
package struct TusDownload: DownloadProtocol {
  package let url: WebURL
  private let isAuthorised: Bool

  /// - Parameter endpoint: where uploads are created; its credentials stay with its origin.
  package init(url: WebURL, endpoint: WebURL) {
    self.url = url
    isAuthorised = url.origin == endpoint.origin
  }

  package func remoteID(of object: RemoteObject) -> String? { url.text }

  package func probe() -> Request {
    Request(
      "HEAD", url, headers: ["Tus-Resumable": Tus.version, "Accept-Encoding": "identity"],
      isAuthorised: isAuthorised)
  }

  package func probed(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    guard (200...299).contains(response.status) else {
      return .failure(refusal(response, doing: "probe", now: now))
    }
    var object = ObjectFacts.read(response.head, now: now)
    guard let offset = response.headers["Upload-Offset"].flatMap({ ByteCount.read($0) }) else {
      return .success(object)
    }
    guard response.headers["Upload-Length"].flatMap({ ByteCount.read($0) }) == offset else {
      return .failure(
        Failure(
          .notFound, "\(url) is an upload that is not finished: byte \(offset) is the last that is there",
          httpStatus: response.status))
    }
    object.size = offset
    object.fileName = object.fileName ?? Self.fileName(response.headers)
    return .success(object)
  }

  static func fileName(_ headers: HeaderList) -> String? {
    for pair in (headers.combined("Upload-Metadata") ?? "").split(separator: ",") {
      let words = pair.split(separator: " ")
      if words.count == 2, words[0] == "filename", let bytes = Base64.decode(String(words[1])) {
        return String(decoding: bytes, as: UTF8.self)
      }
    }
    return nil
  }

  package func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request {
    var request = RangeRequest.get(url, range, of: object)
    request.isAuthorised = isAuthorised
    return request
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    HTTPFailure.of(response, doing: what, now: now)
  }
}
