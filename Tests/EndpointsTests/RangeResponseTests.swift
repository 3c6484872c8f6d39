import Endpoints
import JobModel
import Testing

/// Every kind of answer to a GET, and what may be done with its body.
struct RangeAnswerTests {
  private enum Kind: Equatable {
    case bytes(Range<Int64>)
    case untied(Range<Int64>)
    case whole(Int64?)
    case nothing(Int64)
    case changed
    case refused(ErrorCode)
  }

  private let modified = "Thu, 01 Jan 1970 00:00:00 GMT"

  private func check(
    _ status: Int, _ headers: HeaderList, wanted: Range<Int64>? = 10..<20, etag: String? = "\"a\"",
    size: Int64? = 100,
    is kind: Kind, _ location: SourceLocation = #_sourceLocation
  ) throws {
    var object = RemoteObject()
    object.etag = etag
    object.size = size
    let url = try #require(WebURL("http://h/f"))
    let head = ResponseHead(status: status, headers: headers)
    let facts = ObjectFacts.read(head, now: 1000)
    let seen: Kind =
      switch RangeResponse.judge(head, wanted: wanted, object: object, seen: facts, url: url, now: 1000) {
      case .bytes(let range): .bytes(range)
      case .untied(let range, _): .untied(range)
      case .whole(let length): .whole(length)
      case .nothing(let size): .nothing(size)
      case .changed: .changed
      case .refused(let failure): .refused(failure.code)
      }
    #expect(
      seen == kind, "\(status) \(headers.fields.map { "\($0.name): \($0.value)" })", sourceLocation: location)
  }

  @Test func partial() throws {
    let good = "bytes 10-19/100"
    try check(206, ["Content-Range": good, "ETag": "\"a\""], is: .bytes(10..<20))
    // A range that does not name its version is joined to no other one without proof of the whole.
    try check(206, ["Content-Range": good], is: .untied(10..<20))
    try check(206, ["Content-Range": good, "ETag": "W/\"a\""], is: .untied(10..<20))
    try check(206, ["Content-Range": good], etag: nil, is: .bytes(10..<20))
    try check(206, ["Content-Range": "bytes 0-99/100"], wanted: 0..<100, is: .bytes(0..<100))
    try check(206, ["Content-Range": good, "ETag": "\"a\"", "Content-Length": "10"], is: .bytes(10..<20))
    try check(206, ["Content-Range": "bytes 10-19/*", "ETag": "\"a\""], is: .bytes(10..<20))
    // Less than was asked for is allowed; other bytes are not.
    try check(206, ["Content-Range": "bytes 10-14/100", "ETag": "\"a\""], is: .bytes(10..<15))
    try check(206, ["Content-Range": "bytes 11-19/100"], is: .refused(.rangeInvalid))
    try check(206, ["Content-Range": "bytes 10-20/100"], is: .refused(.rangeInvalid))
    try check(206, ["Content-Range": "bytes 0-19/100"], is: .refused(.rangeInvalid))
    try check(206, ["Content-Range": "bytes 0-99/100"], wanted: nil, is: .refused(.rangeInvalid))
    try check(206, [:], is: .refused(.rangeInvalid))
    try check(206, ["Content-Range": "bytes */100"], is: .refused(.rangeInvalid))
    try check(206, ["Content-Range": "bytes 19-10/100"], is: .refused(.rangeInvalid))
    try check(206, ["Content-Range": "bytes 10-19/15"], is: .refused(.rangeInvalid))
    try check(206, ["Content-Range": good, "Content-Length": "9"], is: .refused(.rangeInvalid))
    try check(
      206, ["Content-Type": "Multipart/Byteranges; boundary=x", "Content-Range": good],
      is: .refused(.rangeInvalid))
    try check(206, ["Content-Type": "multipart/byteranges; boundary=x"], is: .refused(.rangeInvalid))
    try check(206, ["Content-Range": good, "ETag": "\"a\""], size: nil, is: .bytes(10..<20))
    try check(206, ["Content-Range": "bytes 0-4/5"], wanted: 0..<10, etag: nil, size: nil, is: .bytes(0..<5))
  }

  /// Some servers answer ranges with 200 (gofakes3, so `rclone serve s3`): a part is never taken for the whole.
  @Test func contentRangeDecidesUnder200() throws {
    let good = "bytes 10-19/100"
    try check(200, ["Content-Range": good, "Content-Length": "10", "ETag": "\"a\""], is: .bytes(10..<20))
    try check(
      200, ["Content-Range": "bytes 0-9/100", "Content-Length": "10"], wanted: 0..<10, etag: nil, size: nil,
      is: .bytes(0..<10))
    try check(200, ["Content-Range": good, "Content-Length": "9"], is: .refused(.rangeInvalid))
    try check(200, ["Content-Range": good, "ETag": "\"b\""], is: .changed)
    try check(200, ["Content-Range": "bytes 10-19/90", "Content-Length": "10"], is: .changed)
    try check(200, ["Content-Range": "bytes 0-9/100"], is: .refused(.rangeInvalid))
    try check(200, ["Content-Range": good], wanted: nil, is: .refused(.rangeInvalid))
    try check(200, ["Content-Range": "bytes 0-99/*"], wanted: nil, is: .refused(.rangeInvalid))
    for unread in ["bytes ten-19/100", "items 0-9/10", ""] {
      try check(200, ["Content-Range": unread, "Content-Length": "100"], is: .refused(.rangeInvalid))
    }
    // The whole, said in another way.
    try check(200, ["Content-Range": "bytes 0-99/100", "Content-Length": "100"], is: .whole(100))
    try check(200, ["Content-Range": "bytes 0-99/100"], wanted: nil, is: .whole(100))
    try check(200, ["Content-Range": "bytes */100", "Content-Length": "100"], wanted: nil, is: .whole(100))
    try check(
      200, ["Content-Range": "bytes 0-99/100", "Content-Length": "100"], wanted: 0..<100, is: .bytes(0..<100))
  }

  @Test func digestsOfAPartAreNotTheWholes() throws {
    let sum = "1B2M2Y8AsgTpgAmY7PhCfg=="
    for name in ["Content-MD5", "Digest", "Content-Digest"] {
      let value = ["Content-MD5": sum, "Digest": "md5=" + sum, "Content-Digest": "md5=:\(sum):"][name] ?? ""
      var head = ResponseHead(status: 200, headers: ["Content-Range": "bytes 0-9/100"])
      head.headers.append(name, value)
      #expect(ObjectFacts.read(head, now: 0).digests.isEmpty && ObjectFacts.read(head, now: 0).size == 100)
      head.headers.remove("Content-Range")
      #expect(ObjectFacts.read(head, now: 0).digests.count == 1, "\(name)")
    }
  }

  @Test func changed() throws {
    try check(206, ["Content-Range": "bytes 10-19/100", "ETag": "\"b\""], is: .changed)
    try check(206, ["Content-Range": "bytes 10-19/101", "ETag": "\"a\""], is: .changed)
    try check(206, ["Content-Range": "bytes 10-19/101"], etag: nil, is: .changed)
    try check(200, ["Content-Length": "100", "ETag": "\"b\""], is: .changed)
    try check(200, ["Content-Length": "99", "ETag": "\"a\""], is: .changed)
    try check(200, ["Content-Length": "99"], etag: nil, is: .changed)
    try check(412, [:], is: .changed)
    try check(416, ["Content-Range": "bytes */99"], is: .changed)
    try check(416, ["Content-Range": "bytes */5"], is: .changed)
  }

  @Test func weakTagsSpeakOfTheSameVersion() throws {
    try check(
      206, ["Content-Range": "bytes 10-19/100", "ETag": "W/\"a\""], etag: "W/\"a\"", is: .bytes(10..<20))
    try check(206, ["Content-Range": "bytes 10-19/100", "ETag": "W/\"b\""], etag: "W/\"a\"", is: .changed)
    var object = RemoteObject()
    object.etag = "W/\"a\""
    object.lastModified = modified
    object.lastModifiedIsStrong = true
    #expect(object.rangeValidator == nil, "a weak validator must not be used in If-Range")
    object.etag = nil
    #expect(object.rangeValidator == modified)
    object.lastModifiedIsStrong = false
    #expect(object.rangeValidator == nil)
    object.etag = "\"a\""
    #expect(object.rangeValidator == "\"a\"")
  }

  @Test func whole() throws {
    try check(200, ["Content-Length": "100", "ETag": "\"a\""], is: .whole(100))
    try check(200, [:], is: .whole(nil))
    try check(200, ["Content-Length": "7"], wanted: nil, etag: nil, size: nil, is: .whole(7))
    try check(200, ["Content-Length": "0"], wanted: 0..<8, etag: nil, size: nil, is: .whole(0))
  }

  @Test func nothingThere() throws {
    try check(416, ["Content-Range": "bytes */0"], wanted: 0..<8, etag: nil, size: nil, is: .nothing(0))
    try check(416, ["Content-Range": "bytes */100"], wanted: 100..<110, is: .nothing(100))
    try check(416, ["Content-Range": "bytes */100"], is: .refused(.rangeInvalid))
    try check(416, [:], is: .refused(.rangeInvalid))
    try check(416, ["Content-Range": "bytes 0-1/100"], wanted: 100..<110, is: .nothing(100))
  }

  @Test func refusals() throws {
    for (status, code) in [
      (401, .unauthorized), (403, .forbidden), (404, .notFound), (410, .notFound), (429, .rateLimited),
      (500, .serverError), (503, .serverError), (304, .protocolViolation), (204, .protocolViolation),
      (302, .protocolViolation), (400, .protocolViolation),
    ] as [(Int, ErrorCode)] {
      try check(status, [:], is: .refused(code))
    }
  }

  /// Lines of one name are one list (RFC 9110, 5.3).
  @Test func contentHeadersInSeveralLines() {
    let headers: HeaderList = [
      "Cache-Control": "max-age=5", "Content-Encoding": "br", "cache-control": "private, no-store",
      "content-encoding": "gzip", "Content-Language": "de", "content-language": "en",
      "Content-Disposition": "inline", "content-disposition": "attachment",
    ]
    let facts = ObjectFacts.read(ResponseHead(status: 200, headers: headers), now: 0)
    #expect(
      facts.attributes.headers == [
        .cacheControl: "max-age=5, private, no-store", .encoding: "br,gzip", .language: "de, en",
        .disposition: "inline",
      ])
    #expect(facts.contentEncoding == "br, gzip")
  }

  @Test func strengthOfLastModified() {
    for (date, now, strong) in [
      ("Thu, 01 Jan 1970 00:00:01 GMT", 0, true), ("Thu, 01 Jan 1970 00:00:00 GMT", 500, false),
      (nil, 0.5, false), (nil, 1, true),
    ] as [(String?, Double, Bool)] {
      var headers: HeaderList = ["Last-Modified": modified]
      if let date { headers.append("Date", date) }
      let facts = ObjectFacts.read(ResponseHead(status: 200, headers: headers), now: now)
      #expect(facts.lastModifiedIsStrong == strong)
    }
  }
}
