package import JobModel

/// Downloads from any web server: the first range's answer tells size and version, so nothing is asked before.
package struct HTTPDownload: DownloadProtocol {
  package let url: WebURL

  package init(url: WebURL) { self.url = url }

  /// A URL that is signed for GET is not asked by HEAD.
  package func probe() -> Request {
    isSigned ? byte : Request("HEAD", url, headers: ["Accept-Encoding": "identity"])
  }

  private var byte: Request { RangeRequest.get(url, 0..<1, of: RemoteObject()) }

  /// S3's, Google's and CloudFront's signatures, which are of a method (docs.aws.amazon.com/AmazonS3/latest/API/
  /// sigv4-query-string-auth.html).
  private var isSigned: Bool {
    let names = (url.query ?? "").split(separator: "&").map { $0.prefix { $0 != "=" }.lowercased() }
    return names.contains { ["x-amz-signature", "x-goog-signature", "signature"].contains($0) }
  }

  /// Some servers sign URLs, or give rights, for GET alone; others know of no HEAD, and answer as to a wrong path or request.
  package func question(after response: Response, to request: Request) -> Request? {
    request.method == "HEAD" && [400, 403, 404, 405, 410, 501].contains(response.status) ? byte : nil
  }

  package func probed(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    switch response.status {
    case 200...299, 416: .success(ObjectFacts.read(response.head, now: now))
    default: .failure(HTTPFailure.of(response, doing: "probe", now: now))
    }
  }

  package func get(_ range: Range<Int64>?, of object: RemoteObject) -> Request {
    RangeRequest.get(url, range, of: object)
  }
}

/// The ranged GET that all HTTP downloads share.
package enum RangeRequest {
  package static func get(_ url: WebURL, _ range: Range<Int64>?, of object: RemoteObject) -> Request {
    // Ranges count coded bytes, and a coded body could not be verified: identity only (RFC 9110, 12.5.3).
    var headers: HeaderList = ["Accept-Encoding": "identity"]
    if let range {
      headers.append("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
      if let validator = object.rangeValidator { headers.append("If-Range", validator) }
    }
    return Request("GET", url, headers: headers)
  }
}
