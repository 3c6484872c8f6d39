package import JobModel

/// Judges the head of an answer to a GET before a byte of it is used (RFC 9110, 14 and 15.3.7).
package enum RangeResponse: Sendable, Hashable {
  /// The body is these bytes; the range may be shorter than what was asked for.
  case bytes(Range<Int64>)
  /// As `bytes`; only proof of the whole shows whether they belong with other ranges. The failure is for who has none.
  case untied(Range<Int64>, Failure)
  /// The body is the whole object, from byte 0: the server does not serve ranges, or the validator failed.
  case whole(length: Int64?)
  /// The object is empty, or what was asked for lies behind its end.
  case nothing(size: Int64)
  /// The object is not the one that the recorded bytes belong to.
  case changed(RemoteObject)
  case refused(Failure)

  /// - Parameters:
  ///   - wanted: the range asked for; nil for everything.
  ///   - object: what is known of the object; empty before the first answer.
  ///   - seen: what this head says of it.
  package static func judge(
    _ head: ResponseHead, wanted: Range<Int64>?, object: RemoteObject, seen: RemoteObject, url: WebURL,
    now: Double
  ) -> RangeResponse {
    switch head.status {
    case 206: return partial(head, wanted: wanted, object: object, seen: seen, url: url)
    case 200:
      if head.headers["Content-Range"] != nil,
        !head.carriesWhole || wanted != nil && head.contentRange?.range == wanted
      {
        return partial(head, wanted: wanted, object: object, seen: seen, url: url)
      }
      guard object.isSameVersion(as: seen) else { return .changed(seen) }
      return .whole(length: seen.size)
    case 412: return .changed(seen)
    case 416:
      guard let total = seen.size else {
        return .refused(
          Failure(.rangeInvalid, "\(url) refused a range with 416 and did not say its size", httpStatus: 416))
      }
      if let known = object.size, known != total { return .changed(seen) }
      if let wanted, wanted.lowerBound < total {
        return .refused(
          Failure(
            .rangeInvalid, "\(url) refused bytes \(text(wanted)) of \(total) with 416", httpStatus: 416,
            expected: text(wanted), actual: head.headers["Content-Range"]))
      }
      return .nothing(size: total)
    default:
      return .refused(HTTPFailure.of(Response(head: head, url: url), doing: "download", now: now))
    }
  }

  private static func partial(
    _ head: ResponseHead, wanted: Range<Int64>?, object: RemoteObject, seen: RemoteObject, url: WebURL
  ) -> RangeResponse {
    func refuse(_ what: String) -> RangeResponse {
      .refused(
        Failure(
          .rangeInvalid, "\(url) answered \(head.status) with \(what)", httpStatus: head.status,
          expected: wanted.map(text),
          actual: head.headers["Content-Range"]))
    }
    if head.headers["Content-Type"]?.lowercased().hasPrefix("multipart/byteranges") == true {
      return refuse("multipart/byteranges for a single range")
    }
    guard let field = head.headers["Content-Range"] else { return refuse("no Content-Range") }
    guard let told = ContentRange(field), let range = told.range else {
      return refuse("an invalid Content-Range `\(field)`")
    }
    guard let wanted else { return refuse("a range that was not asked for") }
    guard object.isSameVersion(as: seen) else { return .changed(seen) }
    guard range.lowerBound == wanted.lowerBound, range.upperBound <= wanted.upperBound else {
      return refuse("bytes \(text(range)), where \(text(wanted)) was asked for")
    }
    if let length = head.headers["Content-Length"].flatMap({ ByteCount.read($0) }),
      length != Int64(range.count)
    {
      return refuse("\(length) bytes for a range of \(range.count)")
    }
    // Who keeps to If-Range names the version (RFC 9110, 15.3.7): else nothing ties this range to the others.
    if object.hasStrongETag, !seen.hasStrongETag, !object.isPinned, Int64(range.count) != object.size {
      return .untied(
        range,
        Failure(
          .rangeInvalid, "\(url) answered a range without the strong ETag that it told before",
          class: .rangesUnserved, httpStatus: head.status, expected: object.etag, actual: seen.etag))
    }
    return .bytes(range)
  }

  private static func text(_ range: Range<Int64>) -> String { "\(range.lowerBound)-\(range.upperBound - 1)" }
}
