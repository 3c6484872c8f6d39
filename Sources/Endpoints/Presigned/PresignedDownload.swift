package import JobModel

/// Downloads through a back end whose answer is the bytes, or a redirect to a presigned URL of them.
///
/// Each range asks the back end anew, so a URL that has expired is never used again. A URL is signed for GET alone:
/// nothing is asked with HEAD.
package struct PresignedDownload: DownloadProtocol {
  package let url: WebURL

  /// `path` is below the endpoint's URL, literal.
  package init(base: WebURL, path: String) { url = base.appending(WebURL.encode(path)) }

  package func probe() -> Request { RangeRequest.get(url, 0..<1, of: RemoteObject()) }

  package func probed(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    switch response.status {
    case 200...299, 416: .success(ObjectFacts.read(response.head, now: now))
    default: .failure(refusal(response, doing: "probe", now: now))
    }
  }

  package func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request {
    RangeRequest.get(url, range, of: object)
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    PresignedResponse.refusal(of: response, doing: what, now: now)
  }
}
