package import JobModel

/// Reads what an answer's head says of the object behind it (RFC 9110, 8).
package enum ObjectFacts {
  package static func read(_ head: ResponseHead, now: Double) -> RemoteObject {
    var object = RemoteObject()
    let headers = head.headers
    object.etag = headers["ETag"].flatMap { $0.isEmpty ? nil : $0 }
    object.lastModified = headers["Last-Modified"]
    if let modified = object.lastModified.flatMap(HTTPDate.seconds) {
      let date = headers["Date"].flatMap(HTTPDate.seconds) ?? now
      object.lastModifiedIsStrong = date - modified >= 1
    }
    object.contentType = headers["Content-Type"]
    if let coding = headers.combined("Content-Encoding"), coding.lowercased() != "identity" {
      object.contentEncoding = coding
    }
    object.attributes.headers = contentHeaders(headers)
    object.fileName = headers["Content-Disposition"].flatMap(ContentDisposition.fileName)
    object.digests = DigestHeaders.wholeFile(head)
    switch head.status {
    case 206:
      object.servesRanges = true
      object.size = head.contentRange?.total
    case 200 where headers["Content-Range"] != nil:
      object.size = head.contentRange?.total
      if !head.carriesWhole, head.contentRange?.range != nil { object.servesRanges = true }
    case 200, 204:
      object.size = headers["Content-Length"].flatMap { ByteCount.read($0) }
      if let ranges = headers["Accept-Ranges"]?.lowercased() {
        object.servesRanges = ranges == "bytes" || ranges.contains("bytes")
      }
    case 416:
      object.size = head.contentRange?.total
    default: break
    }
    return object
  }

  private static func contentHeaders(_ headers: HeaderList) -> [ContentHeader: String] {
    var found: [ContentHeader: String] = [:]
    for header in ContentHeader.allCases {
      // Lines of one name are one list, but for this one, which is none.
      let told = header == .disposition ? headers[header.rawValue] : headers.combined(header.rawValue)
      guard let value = told, !value.isEmpty, HeaderSetting.isSafe(value: value)
      else { continue }
      // `aws-chunked` is of the request that stored it; `identity` is none.
      guard header == .encoding else {
        found[header] = value
        continue
      }
      let codings = value.split(separator: ",").map { $0.trimmed(\.isWhitespace) }
        .filter { !["aws-chunked", "identity", ""].contains($0.lowercased()) }
      if !codings.isEmpty { found[header] = codings.joined(separator: ",") }
    }
    return found
  }
}
