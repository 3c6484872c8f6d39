import Endpoints
import Foundation
import JobModel
import Testing

private func settings(_ change: (inout S3Settings) -> Void = { _ in }) -> S3Settings {
  var settings = S3Settings()
  settings.bucket = "bkt"
  change(&settings)
  return settings
}

private func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

private func response(
  _ status: Int, _ body: String = "", _ headers: HeaderList = HeaderList()
) throws -> Response {
  Response(
    head: ResponseHead(status: status, headers: headers), body: Array(body.utf8),
    url: try url("http://h/bkt/k"))
}

private func error(_ code: String, _ more: String = "") -> String {
  "<Error><Code>\(code)</Code><Message>said</Message>\(more)</Error>"
}

struct S3AddressTests {
  @Test(arguments: [
    ("https://s3.eu-west-1.amazonaws.com", "bkt", "auto", "https://bkt.s3.eu-west-1.amazonaws.com/a/b"),
    ("https://s3.eu-west-1.amazonaws.com", "b.kt", "auto", "https://s3.eu-west-1.amazonaws.com/b.kt/a/b"),
    ("https://s3.eu-west-1.amazonaws.com", "B_kt", "auto", "https://s3.eu-west-1.amazonaws.com/B_kt/a/b"),
    ("https://s3.eu-west-1.amazonaws.com", "bkt", "path", "https://s3.eu-west-1.amazonaws.com/bkt/a/b"),
    ("http://10.0.0.1", "bkt", "auto", "http://10.0.0.1/bkt/a/b"),
    ("http://[::1]", "bkt", "auto", "http://[::1]/bkt/a/b"),
    ("https://minio.example:9000", "bkt", "auto", "https://minio.example:9000/bkt/a/b"),
    ("https://minio.example:9000", "bkt", "virtual", "https://bkt.minio.example:9000/a/b"),
    ("https://gate.example/s3", "bkt", "path", "https://gate.example/s3/bkt/a/b"),
  ])
  func places(_ base: String, _ bucket: String, _ addressing: String, _ expected: String) throws {
    let settings = settings {
      $0.bucket = bucket
      $0.addressing = S3Settings.Addressing(rawValue: addressing) ?? .auto
    }
    #expect(S3Address(base: try url(base), settings: settings).url("a/b").text == expected)
  }

  @Test func keysAreLiteral() throws {
    let address = S3Address(base: try url("http://h:1"), settings: settings())
    #expect(address.url("/a//../b c+?#%").path == "/bkt//a//../b%20c%2B%3F%23%25")
  }
}

struct S3RefusalTests {
  @Test(arguments: [
    (503, "SlowDown", ErrorCode.rateLimited), (503, "ServiceUnavailable", .rateLimited),
    (500, "InternalError", .serverError), (400, "RequestTimeout", .timeout),
    (403, "AccessDenied", .forbidden), (403, "SignatureDoesNotMatch", .unauthorized),
    (403, "InvalidAccessKeyId", .unauthorized), (400, "ExpiredToken", .unauthorized),
    (400, "InvalidToken", .unauthorized), (403, "InvalidTokenId", .unauthorized),
    (403, "RequestTimeTooSkewed", .unauthorized),
    (404, "NoSuchKey", .notFound), (404, "NoSuchBucket", .notFound), (404, "NoSuchUpload", .sessionExpired),
    (400, "InvalidPart", .integrityMismatch), (400, "BadDigest", .integrityMismatch),
    (400, "XAmzContentSHA256Mismatch", .integrityMismatch), (400, "EntityTooLarge", .protocolViolation),
    (400, "EntityTooSmall", .protocolViolation), (412, "PreconditionFailed", .destinationExists),
    (403, "InvalidObjectState", .forbidden), (301, "PermanentRedirect", .forbidden),
    (400, "AuthorizationHeaderMalformed", .forbidden), (409, "OperationAborted", .serverError),
    (200, "InternalError", .serverError), (400, "KMS.DisabledException", .forbidden),
  ])
  func codes(_ status: Int, _ code: String, _ expected: ErrorCode) throws {
    let upload = S3Upload(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings(), key: "k")
    let refused = try response(status, error(code))
    #expect(upload.refuses(refused))
    let failure = upload.refusal(refused, doing: "PUT", now: 0)
    #expect(failure.code == expected)
    #expect(failure.message.contains(code) && failure.message.contains("said"))
    #expect(failure.httpStatus == status)
  }

  /// An answer to HEAD has no body: the reason is asked for by a GET of one byte.
  @Test func aHeadThatIsRefusedIsAskedAboutByGet() throws {
    let address = S3Address(base: try url("http://h:1"), settings: settings())
    let download = S3Download(address: address, settings: settings(), key: "k")
    let upload = S3Upload(address: address, settings: settings(), key: "k")
    for status in [400, 403, 404, 405] {
      let question = download.question(after: try response(status), to: download.probe())
      #expect(question?.method == "GET" && question?.headers["Range"] == "bytes=0-0", "\(status)")
      let look = try #require(upload.look())
      #expect((upload.question(after: try response(status), to: look) == nil) == (status == 404))
    }
    for status in [412, 429, 500, 503] {
      #expect(download.question(after: try response(status), to: download.probe()) == nil)
    }
    #expect(download.question(after: try response(403), to: download.get(0..<9, of: RemoteObject())) == nil)
  }

  @Test func whatAServerLacksIsNamedByTheKeysThatAreSet() throws {
    func hint(_ change: (inout S3Settings) -> Void) throws -> String {
      let settings = settings(change)
      let address = S3Address(base: try url("http://h:1"), settings: settings)
      let upload = S3Upload(address: address, settings: settings, key: "k")
      return upload.refusal(try response(501, error("NotImplemented")), doing: "PUT", now: 0).message
    }
    let tags = try hint {
      $0.tags = ["a": "b"]
      $0.checksum = .none
    }
    #expect(tags.contains("`tags`") && !tags.contains("`checksum`"))
    #expect(try hint { _ in }.contains("`checksum`"))
  }

  @Test func aTextOfAnotherServerIsShown() throws {
    let download = S3Download(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings(), key: "k")
    let text = "Client sent an HTTP request to an HTTPS server.\n"
    let told = download.refusal(try response(400, text), doing: "look", now: 0).message
    #expect(told.contains("HTTP request to an HTTPS server. from"))
  }

  @Test func regionsAndClocksAreNamed() throws {
    let download = S3Download(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings(), key: "k")
    func message(_ response: Response, now: Double = 784_111_777) -> (ErrorCode, String) {
      let failure = download.refusal(response, doing: "HEAD", now: now)
      return (failure.code, failure.message)
    }
    let body = error("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>")
    for one in [
      try response(301, "", ["x-amz-bucket-region": "eu-west-1"]),
      try response(400, "", ["x-amz-bucket-region": "eu-west-1"]), try response(400, body),
    ] {
      #expect(message(one).0 == .forbidden && message(one).1.contains("`region: eu-west-1`"))
    }
    let served = message(
      try response(301, error("PermanentRedirect", "<Endpoint>bkt.s3-eu-west-1.amazonaws.com</Endpoint>")))
    #expect(served.0 == .forbidden && served.1.contains("served at `bkt.s3-eu-west-1.amazonaws.com`"))
    #expect(!served.1.contains("`region: "))
    // A new bucket, whose name is on its way: but not where another region is told.
    #expect(message(try response(307, error("TemporaryRedirect"))).0 == .serverError)
    #expect(message(try response(307, "", ["x-amz-request-id": "1"])).0 == .serverError)
    let elsewhere: HeaderList = ["x-amz-bucket-region": "eu-west-1"]
    #expect(message(try response(307, error("TemporaryRedirect"), elsewhere)).0 == .forbidden)
    let date: HeaderList = ["Date": "Sun, 06 Nov 1994 08:49:37 GMT"]
    let late = message(try response(403, "", date), now: 784_111_777 + 3600)
    #expect(late.0 == .unauthorized && late.1.contains("60 minutes ahead of"))
    #expect(message(try response(403, "", date)).0 == .forbidden)
    #expect(
      message(try response(400, "", date)).0 == .protocolViolation,
      "HEAD gives no reason: it is asked for by GET")
    #expect(message(try response(404)).0 == .notFound)
  }
}

struct S3UploadTests {
  private let source = UploadSource(
    size: 25 << 20, contentType: "text/plain", chunkSize: 10 << 20,
    digests: [.crc64nvme: "ae8b14860a799888"])
  private let session = RemoteSession(id: "a+b/=", chunkSize: 10 << 20)
  private let sum = String(repeating: "ab", count: 32)

  private func upload(_ change: (inout S3Settings) -> Void = { _ in }) throws -> S3Upload {
    S3Upload(
      address: S3Address(base: try url("http://h:1"), settings: settings(change)), settings: settings(change),
      key: "k")
  }

  @Test func sizesDecide() throws {
    let upload = try upload()
    func opens(_ size: Int64) -> Bool {
      upload.open(UploadSource(size: size, contentType: "", chunkSize: 8 << 20), renewing: nil) != nil
    }
    #expect(!opens(0) && !opens(1) && !opens((16 << 20) - 1) && opens(16 << 20))
    let parts = upload.abilities(of: 100 << 30)
    #expect(parts.resumes && parts.isParallel && parts.fileDigests == [.crc64nvme])
    #expect(parts.chunkSize(wanted: 1 << 20, of: 100 << 20) == 5 << 20)
    #expect((100 << 30) / parts.chunkSize(wanted: 5 << 20, of: 100 << 30) < 10_000)
    let single = upload.abilities(of: 1)
    #expect(!single.resumes && single.fileDigests == [.crc64nvme])
    let always = try self.upload { $0.multipartThreshold = 0 }
    #expect(always.open(UploadSource(size: 0, contentType: "", chunkSize: 1), renewing: nil) == nil)
    let never = try self.upload { $0.multipartThreshold = .max }
    #expect(
      never.open(UploadSource(size: 6 << 30, contentType: "", chunkSize: 1 << 30), renewing: nil) != nil)
  }

  @Test func requests() throws {
    let upload = try upload { $0.tags = ["b&": "1 2", "a": ""] }
    let open = try #require(upload.open(source, renewing: nil))
    #expect(open.method == "POST" && open.url.query == "uploads=")
    #expect(open.headers["x-amz-checksum-algorithm"] == "CRC64NVME")
    #expect(open.headers["x-amz-checksum-type"] == "FULL_OBJECT")
    #expect(open.headers["x-amz-tagging"] == "a=&b%26=1%202")
    let chunk = UploadChunk(
      index: 2, range: (20 << 20)..<(25 << 20), digests: [.sha256: sum, .crc64nvme: "ae8b14860a799888"])
    let put = upload.put(chunk, session: session, source: source)
    #expect(put.method == "PUT" && put.url.query == "partNumber=3&uploadId=a%2Bb%2F%3D")
    #expect(put.headers["x-amz-content-sha256"] == sum)
    #expect(put.headers["x-amz-checksum-crc64nvme"] == "rosUhgp5mIg=")
    #expect(put.headers["x-amz-tagging"] == nil && put.headers["If-None-Match"] == nil)
    var new = source
    new.mustBeNew = true
    #expect(upload.put(chunk, session: nil, source: new).headers["If-None-Match"] == "*")
    let records = [
      ChunkRecord(offset: 10 << 20, length: 10 << 20, digest: sum, receipt: "e<2>"),
      ChunkRecord(offset: 0, length: 10 << 20, digest: sum, receipt: "e1"),
    ]
    let close = try #require(upload.finalize(session, source: new, chunks: records))
    guard case .bytes(let body) = close.body else { throw CancellationError() }
    let text = String(decoding: body, as: UTF8.self)
    #expect(
      text.contains(
        "<Part><PartNumber>1</PartNumber><ETag>&quot;e1&quot;</ETag></Part><Part><PartNumber>2</PartNumber><ETag>&quot;e&lt;2&gt;&quot;</ETag></Part>"
      ))
    #expect(close.headers["Content-Type"] == "application/xml" && close.headers["If-None-Match"] == "*")
    #expect(close.headers["x-amz-mp-object-size"] == String(25 << 20))
    #expect(close.headers["x-amz-checksum-crc64nvme"] == "rosUhgp5mIg=")
  }

  @Test func answersOfOtherMakesAreRead() throws {
    let upload = try upload()
    // Root names and quotes differ between AWS, moto and others: children's names count. A proxy may weaken ETags.
    let body = """
      <?xml version="1.0"?><x:ListPartsResponse xmlns:x="y"><x:NextPartNumberMarker>2</x:NextPartNumberMarker>\
      <x:IsTruncated>true</x:IsTruncated><x:Part><x:PartNumber>1</x:PartNumber><x:ETag>"aa"</x:ETag><x:Size>7</x:Size></x:Part>\
      <x:Part><x:PartNumber>2</x:PartNumber><x:ETag>W/&quot;bb&quot;</x:ETag><x:ChecksumCRC64NVME>rosUhgp5mIg=</x:ChecksumCRC64NVME></x:Part>\
      <x:Part><x:PartNumber>10001</x:PartNumber></x:Part><x:Part><x:PartNumber>0</x:PartNumber></x:Part>\
      </x:ListPartsResponse>
      """
    guard
      case .success(let held) = upload.queried(
        try response(200, body), session: session, source: source, now: 0)
    else { throw CancellationError() }
    #expect(held.nextPage == "2" && held.chunks.count == 2)
    #expect(held.chunks[0] == HeldChunk(size: 7, receipt: "aa"))
    let weakened = try response(200, "", ["ETag": "W/\"bb\""])
    let receipt = try upload.accepted(weakened, chunk: UploadChunk(index: 1, range: 0..<1), now: 0).get()
    #expect(receipt.token == "bb")
    #expect(held.chunks[1] == HeldChunk(receipt: "bb", digests: [.crc64nvme: "ae8b14860a799888"]))
    #expect(
      upload.query(session, after: held)?.url.query
        == "max-parts=1000&part-number-marker=2&uploadId=a%2Bb%2F%3D")
  }

  /// gofakes3 leaves `IsTruncated` out where it is false.
  @Test func aListOfPartsWithoutIsTruncatedIsWhole() throws {
    let upload = try upload()
    func parts(_ body: String) throws -> Int? {
      let verdict = upload.queried(try response(200, body), session: session, source: source, now: 0)
      guard case .success(let held) = verdict, held.nextPage == nil else { return nil }
      return held.chunks.count
    }
    let part = "<Part><PartNumber>1</PartNumber><ETag>a</ETag><Size>7</Size></Part>"
    #expect(try parts("<ListPartsResult>\(part)</ListPartsResult>") == 1)
    #expect(
      try parts("<ListPartsResult><NextPartNumberMarker>1</NextPartNumberMarker>\(part)</ListPartsResult>")
        == 1)
    #expect(try parts("<ListPartsResult/>") == 0)
    #expect(try parts("<html><body>welcome</body></html>") == nil)
  }

  /// The key's own alone, by bytes; what has no time or no id can't be told from another's.
  @Test func openUploadsOfTheKey() throws {
    let upload = S3Upload(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings(),
      key: "a b/\u{e9}")
    let request = try #require(upload.listSessions())
    #expect(
      request.method == "GET"
        && request.url.text
          == "http://h:1/bkt?encoding-type=url&max-uploads=1000&prefix=a%20b%2F%C3%A9&uploads="
    )
    func item(_ key: String, _ id: String, _ time: String) -> String {
      "<Upload><Key>\(key)</Key><UploadId>\(id)</UploadId><Initiated>\(time)</Initiated></Upload>"
    }
    func listed(_ items: String, encoded: Bool) throws -> [OpenSession]? {
      let type = encoded ? "<EncodingType>url</EncodingType>" : ""
      let text = "<ListMultipartUploadsResult>\(type)\(items)</ListMultipartUploadsResult>"
      guard case .success(let found) = upload.listedSessions(try response(200, text), now: 0) else {
        return nil
      }
      return found
    }
    let time = "1970-01-01T00:01:40.500Z"
    let mine = OpenSession(id: "u1", openedAt: 100.5)
    #expect(
      try listed(
        item("a+b%2F%C3%A9", "u1", time) + item("a+b%2F%C3%A9x", "u2", time)
          + item("a+b%2Fe%CC%81", "u3", time)
          + item("a+b%2F%C3%A9", "", time) + item("a+b%2F%C3%A9", "u4", "today"), encoded: true) == [mine])
    #expect(
      try listed(item("a b/\u{e9}", "u1", time) + item("a b/e\u{301}", "u2", time), encoded: false) == [mine])
    #expect(try listed("", encoded: false) == [])
    #expect(Wire.code(upload.listedSessions(try response(200, "<html/>"), now: 0)) == .protocolViolation)
    #expect(Wire.code(upload.listedSessions(try response(403, error("AccessDenied")), now: 0)) == .forbidden)
  }

  @Test func completing() throws {
    let upload = try upload()
    func outcome(_ response: Response) -> String {
      switch upload.finalized(response, session: session, source: source, chunks: [], now: 0) {
      case .success(let file):
        "\(file.etag ?? "") \(file.digests[.crc64nvme] ?? "none") \(file.version ?? "")"
      case .failure(let failure): (failure.class == .sessionGone ? "lost " : "") + failure.code.rawValue
      }
    }
    let good =
      "<C><ETag>&quot;x-2&quot;</ETag><ChecksumCRC64NVME>rosUhgp5mIg=</ChecksumCRC64NVME><ChecksumType>FULL_OBJECT</ChecksumType></C>"
    #expect(
      outcome(try response(200, " \n " + good, ["x-amz-version-id": "v"])) == "\"x-2\" ae8b14860a799888 v")
    #expect(
      outcome(try response(200, "<?xml version=\"1.0\"?>\n  \n<?xml version=\"1.0\"?>" + good))
        == "\"x-2\" ae8b14860a799888 ")
    #expect(outcome(try response(200, "   \n" + error("InternalError"))) == "SERVER_ERROR")
    #expect(outcome(try response(200, "   ")) == "PROTOCOL_VIOLATION")
    #expect(outcome(try response(404, error("NoSuchUpload"))) == "lost SESSION_EXPIRED")
    #expect(outcome(try response(409, error("ConditionalRequestConflict"))) == "lost CHUNK_CONFLICT")
    #expect(outcome(try response(412, error("PreconditionFailed"))) == "DESTINATION_EXISTS")
    #expect(outcome(try response(400, error("InvalidPart"))) == "INTEGRITY_MISMATCH")
  }

  @Test func anETagOfPartsIsRecognised() throws {
    let upload = try upload()
    var object = RemoteObject()
    // md5 of the MD5s of "a" and "b", as bytes.
    let records = ["0cc175b9c0f1b6a831c399e269772661", "92eb5ffee6ae2fec3ad71c777531578f"].enumerated().map {
      ChunkRecord(offset: Int64($0.offset) * session.chunkSize, length: 1, digest: sum, receipt: $0.element)
    }
    object.etag = "\"96e024ba2074fe77e8e965ba43a704be-2\""
    #expect(upload.matches(object, session: session, chunks: records))
    #expect(!upload.matches(object, session: session, chunks: Array(records.prefix(1))))
    object.etag = "\"other-2\""
    #expect(!upload.matches(object, session: session, chunks: records))
  }
}

struct S3DownloadTests {
  @Test func oneVersionOrNone() throws {
    let download = S3Download(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings(), key: "a/b")
    #expect(download.describe(RemoteObject())?.headers["x-amz-checksum-mode"] == "ENABLED")
    let head = ResponseHead(
      status: 200,
      headers: [
        "ETag": "\"e\"", "Content-Length": "9", "x-amz-version-id": "v1",
        "x-amz-checksum-crc64nvme": "rosUhgp5mIg=", "x-amz-checksum-type": "FULL_OBJECT",
      ])
    let object = download.facts(head, now: 0)
    #expect(object.version == "v1" && object.digests == [.crc64nvme: "ae8b14860a799888"])
    let get = download.get(3..<9, of: object)
    #expect(get.headers["Range"] == "bytes=3-8" && get.headers["If-Match"] == "\"e\"")
    #expect(get.headers["If-Range"] == nil)
    #expect(download.remoteID(of: object) == "bkt/a/b")
    var composite = head
    composite.headers.set("x-amz-checksum-type", "COMPOSITE")
    #expect(download.facts(composite, now: 0).digests.isEmpty)
    composite.headers.set("x-amz-checksum-crc64nvme", "rosUhgp5mIg=-3")
    composite.headers.remove("x-amz-checksum-type")
    #expect(download.facts(composite, now: 0).digests.isEmpty)
    let judged = download.judge(
      ResponseHead(status: 412), wanted: 3..<9, object: object, seen: RemoteObject(), now: 0)
    #expect(judged == .changed(RemoteObject()))
  }

  /// A version that was begun with is fetched on when the name has another object.
  @Test func aVersionIsPinned() throws {
    let download = S3Download(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings(), key: "a")
    var object = RemoteObject()
    (object.etag, object.size) = ("\"e\"", 9)
    #expect(download.pinned(object) == nil, "the bucket keeps no versions")
    object.version = "v/1"
    #expect(download.get(3..<9, of: object).url.query == nil)
    let pinned = try #require(download.pinned(object))
    #expect(download.get(3..<9, of: pinned).url.query == "versionId=v%2F1")
    #expect(download.get(3..<9, of: pinned).headers["If-Match"] == "\"e\"")
    #expect(download.describe(pinned) == nil && download.describe(object) != nil)
    #expect(download.probe(of: pinned).url.query == "versionId=v%2F1" && download.probe().url.query == nil)
    #expect(download.askTags(of: pinned)?.url.query == "tagging=&versionId=v%2F1")
    #expect(download.askTags(of: object)?.url.query == "tagging=")
    #expect(download.pinned(pinned) == nil)
    for status in [403, 404, 405, 412] {
      let gone = ResponseHead(status: status)
      let seen = download.facts(gone, now: 0)
      #expect(
        download.judge(gone, wanted: 3..<9, object: pinned, seen: seen, now: 0) == .changed(RemoteObject()))
    }
    let deleted = ResponseHead(status: 404)
    #expect(
      download.judge(deleted, wanted: 3..<9, object: object, seen: RemoteObject(), now: 0)
        == .changed(RemoteObject()), "its version may be there still")
    let refused = ResponseHead(status: 403)
    let verdict = download.judge(refused, wanted: 3..<9, object: object, seen: RemoteObject(), now: 0)
    guard case .refused = verdict else { throw CancellationError() }
  }

  /// Quotes come and go; times are of the store's clock.
  @Test(arguments: [
    ("<ETag>&quot;ab&quot;</ETag>", "\"ab\""), ("<ETag>\"ab-2\"</ETag>", "\"ab-2\""),
    ("<ETag>ab</ETag>", "\"ab\""),
    ("<ETag/>", nil), ("", nil),
  ]) func listedVersions(_ element: String, _ etag: String?) throws {
    let listing = S3Listing(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings())
    let time = "<LastModified>1994-11-06T08:49:37.500Z</LastModified>"
    let body = "<L><Contents><Key>a</Key><Size>3</Size>\(element)\(time)</Contents></L>"
    let page = try listing.listed(try response(200, body), prefix: "", page: nil, now: 0).get()
    #expect(page.entries == [.init(path: "a", size: 3, etag: etag, modified: 784_111_777.5)])
  }

  /// A gateway's error is not the object; an object may be XML.
  @Test func anErrorThatIsAnsweredWith200() throws {
    let download = S3Download(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings(), key: "k")
    func judge(_ headers: HeaderList) -> RangeResponse {
      let head = ResponseHead(status: 200, headers: headers)
      let seen = download.facts(head, now: 0)
      return download.judge(head, wanted: 0..<10, object: RemoteObject(), seen: seen, now: 0)
    }
    guard case .refused(let failure) = judge(["Content-Type": "application/xml"]) else {
      throw CancellationError()
    }
    #expect(failure.code == .serverError && failure.httpStatus == 200)
    guard case .whole = judge(["Content-Type": "application/xml", "ETag": "\"a\""]) else {
      throw CancellationError()
    }
    guard case .whole = judge(["Content-Type": "text/plain"]) else { throw CancellationError() }
  }

  /// A range that is all of the object comes with the object's checksum, and an empty object has no first byte.
  @Test func theFirstRangeTellsAll() throws {
    let download = S3Download(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings(), key: "k")
    #expect(download.get(0..<10, of: RemoteObject()).headers["x-amz-checksum-mode"] == "ENABLED")
    #expect(download.get(10..<20, of: RemoteObject()).headers["x-amz-checksum-mode"] == nil)
    for (range, isWhole) in [("bytes 0-8/9", true), ("bytes 0-8/10", false), ("bytes 1-9/10", false)] {
      let head = ResponseHead(
        status: 206, headers: ["Content-Range": range, "x-amz-checksum-crc64nvme": "rosUhgp5mIg="])
      #expect(download.facts(head, now: 0).digests == (isWhole ? [.crc64nvme: "ae8b14860a799888"] : [:]))
    }
    var known = RemoteObject()
    func judge(_ wanted: Range<Int64>) -> RangeResponse {
      download.judge(ResponseHead(status: 416), wanted: wanted, object: known, seen: RemoteObject(), now: 0)
    }
    #expect(judge(0..<10) == .nothing(size: 0))
    guard case .refused = judge(5..<10) else { throw CancellationError() }
    known.size = 10
    guard case .refused = judge(0..<10) else { throw CancellationError() }
  }

  @Test func listings() throws {
    let listing = S3Listing(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings())
    #expect(
      listing.list("a b/", page: "t+1").url.text
        == "http://h:1/bkt?encoding-type=url&list-type=2&max-keys=1000&prefix=a%20b%2F&continuation-token=t%2B1"
    )
    let root = "http://h:1/bkt?encoding-type=url&list-type=2&max-keys=1000&prefix=a%20b%2F"
    #expect(listing.list("a b/", after: "a b/c+d")?.url.text == root + "&start-after=a%20b%2Fc%2Bd")
    #expect(listing.list("a b/", after: "")?.url.text == root)
    let body = """
      <L><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType><NextContinuationToken>n</NextContinuationToken>\
      <Contents><Key>a+b/c%2Bd%0A</Key><Size>3</Size></Contents><Contents><Key>a%20b/</Key><Size>0</Size></Contents></L>
      """
    guard case .success(let page) = listing.listed(try response(200, body), prefix: "a b/", page: nil, now: 0)
    else {
      throw CancellationError()
    }
    #expect(page.next == "n")
    #expect(page.entries == [.init(path: "c+d\n", size: 3), .init(path: "", size: 0)])
    let last = "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>"
    guard case .success(let end) = listing.listed(try response(200, last), prefix: "", page: nil, now: 0)
    else {
      throw CancellationError()
    }
    #expect(end.next == nil && end.entries.count == 1)
    // Behind a mark, what has no keys has to say that it is the end.
    for (body, isPage) in [
      ("<ListBucketResult><Name>b</Name></ListBucketResult>", false), (last, true),
      ("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>", true),
    ] {
      let behind = listing.listed(try response(200, body), prefix: "", page: "n", now: 0)
      if case .success = behind { #expect(isPage, "\(body)") } else { #expect(!isPage, "\(body)") }
    }
    // All buckets are no bucket's keys: the store did not take the host's first part for one.
    for body in ["<html/>", "<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>"] {
      guard case .failure(let odd) = listing.listed(try response(200, body), prefix: "", page: nil, now: 0)
      else {
        throw CancellationError()
      }
      #expect(odd.code == .protocolViolation)
    }
    guard
      case .failure(let failure) = listing.listed(
        try response(403, error("AccessDenied")), prefix: "", page: nil, now: 0)
    else { throw CancellationError() }
    #expect(failure.code == .forbidden)
  }
}

/// Documents that nobody honest sends.
struct S3HostileXMLTests {
  private static func nested(_ depth: Int) -> String {
    String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
  }

  private static let bodies = [
    "deep": nested(100_000), "deep in a listing": "<L><IsTruncated>false</IsTruncated>\(nested(100_000))</L>",
    "many": "<L>" + String(repeating: "<a/>", count: 300_000) + "</L>",
    "entities":
      "<!DOCTYPE L [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><L><IsTruncated>&b;</IsTruncated></L>",
    "a file":
      "<?xml version=\"1.0\"?><!-- <L> --><!DOCTYPE L SYSTEM \"file:///etc/passwd\"><L><IsTruncated>false</IsTruncated></L>",
    "cut": "<L><IsTruncated>false</IsTruncated>",
  ]

  @Test(arguments: bodies.keys.sorted())
  func isRefused(_ name: String) throws {
    let body = try #require(Self.bodies[name])
    let listing = S3Listing(
      address: S3Address(base: try url("http://h:1"), settings: settings()), settings: settings())
    for status in [200, 403] {
      guard
        case .failure(let failure) = listing.listed(try response(status, body), prefix: "", page: nil, now: 0)
      else {
        throw CancellationError()
      }
      #expect(failure.code == (status == 200 ? .protocolViolation : .forbidden))
    }
  }
}
