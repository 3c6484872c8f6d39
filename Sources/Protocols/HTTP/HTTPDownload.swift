package import JobModel

/// Downloads from any web server: the first range's answer tells size and version, so nothing is asked before.
package struct HTTPDownload: DownloadProtocol {
  package let url: WebURL

  package init(url: WebURL) { self.url = url }

  package func probe() -> Request { Request("HEAD", url, headers: ["Accept-Encoding": "identity"]) }

  package func probed(_ answer: Answer, now: Double) -> Verdict<RemoteObject> {
    switch answer.status {
    case 200...299, 416: .value(ObjectFacts.read(answer.head, now: now))
    default: .failure(HTTPFailure.of(answer, doing: "probe", now: now))
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
