import Endpoints
import JobModel
import Testing

/// Copies that S3 makes by itself: what is asked, and what the answers mean.
struct S3ServiceCopyTests {
  private func driver(_ bucket: String, _ change: (inout S3Settings) -> Void = { _ in }) -> S3Driver {
    var settings = S3Settings()
    settings.bucket = bucket
    change(&settings)
    return S3Driver(settings)
  }

  private func place(
    _ driver: S3Driver, _ path: String, name: String, url: String = "http://h:1",
    auth: Authentication = .aws(.environment), headers: [HeaderSetting] = []
  ) throws -> RemotePlace {
    let endpoint = Endpoint(name: name, driver: driver, url: url, authentication: auth, headers: headers)
    return try RemotePlace(.remote(endpoint: name, path: path), endpoints: [name: endpoint])
  }

  private func copy(
    of key: String = "a b+ä/k?", _ change: (inout S3Settings) -> Void = { _ in }
  ) throws -> any UploadProtocol {
    let (to, url) = (driver("new", change), try #require(WebURL("http://h:1")))
    return try #require(to.serviceCopy(of: key, on: driver("old"), to: "k2", at: url))
  }

  private func source(
    _ size: Int64, chunk: Int64 = 1 << 30, type: String = "text/plain",
    _ change: (inout RemoteObject) -> Void = { _ in }
  ) -> UploadSource {
    var object = RemoteObject()
    (object.size, object.etag, object.contentType) = (size, "\"e1\"", "text/plain")
    change(&object)
    var source = UploadSource(size: size, contentType: type, chunkSize: chunk)
    source.copies = object
    return source
  }

  private func response(
    _ status: Int, _ body: String, _ headers: HeaderList = HeaderList()
  ) throws -> Response {
    Response(
      head: ResponseHead(status: status, headers: headers), body: Array(body.utf8),
      url: try #require(WebURL("http://h:1/new/k2")))
  }

  private let chunk = UploadChunk(index: 0, range: 0..<10)

  /// One service, one region, one credential, and two objects.
  @Test func whereTheServiceCopies() throws {
    let from = try place(driver("old"), "k", name: "a")
    func copies(_ to: RemotePlace) -> Bool { to.serviceCopy(of: from) != nil }
    #expect(try copies(place(driver("new"), "k", name: "b")))
    #expect(try copies(place(driver("old"), "k2", name: "b")))
    #expect(try !copies(place(driver("old"), "k", name: "b")), "onto itself")
    #expect(try !copies(place(driver("new"), "k", name: "b", url: "http://h:2")))
    #expect(try !copies(place(driver("new"), "k", name: "b", auth: .none)))
    #expect(try !copies(place(driver("new"), "k", name: "b", auth: .aws(.profile("p")))))
    #expect(try !copies(place(driver("new") { $0.region = "eu-west-1" }, "k", name: "b")))
    let payer = HeaderSetting(name: "x-amz-request-payer", value: .text("requester"))
    #expect(try !copies(place(driver("new"), "k", name: "b", headers: [payer])))
    let web = Endpoint(name: "w", driver: HTTPDriver(), url: "http://h:1", authentication: .aws(.environment))
    let other = try RemotePlace(.remote(endpoint: "w", path: "k"), endpoints: ["w": web])
    #expect(try place(driver("new"), "k", name: "b").serviceCopy(of: other) == nil)
    #expect(other.serviceCopy(of: from) == nil)
  }

  @Test func aWholeObjectIsNamed() throws {
    let copy = try copy()
    #expect(copy.open(source(10), renewing: nil) == nil)
    let request = copy.put(chunk, session: nil, source: source(10))
    #expect(request.method == "PUT" && request.url.text == "http://h:1/new/k2" && request.body == .bytes([]))
    #expect(request.headers["x-amz-copy-source"] == "/old/a%20b%2B%C3%A4/k%3F")
    #expect(request.headers["x-amz-copy-source-if-match"] == "\"e1\"")
    #expect(request.headers["x-amz-copy-source-range"] == nil)
    #expect(request.headers["x-amz-metadata-directive"] == "REPLACE")
    #expect(request.headers["x-amz-checksum-algorithm"] == "CRC64NVME")
    let pinned = source(10) {
      $0.version = "v/1"
      $0.facts["pinned"] = "1"
    }
    let named = copy.put(chunk, session: nil, source: pinned)
    #expect(named.headers["x-amz-copy-source"]?.hasSuffix("k%3F?versionId=v%2F1") == true)
    let weak = copy.put(chunk, session: nil, source: source(10) { $0.etag = "W/\"e1\"" })
    #expect(weak.headers["x-amz-copy-source-if-match"] == nil)
  }

  /// As of an upload: what goes along from the source, and what the manifest says over it.
  @Test func whatTheObjectIsStoredWith() throws {
    func headers(_ source: UploadSource, _ change: (inout S3Settings) -> Void = { _ in }) throws -> HeaderList
    {
      try copy(change).put(chunk, session: nil, source: source).headers
    }
    var along = source(10, type: "text/html")
    along.preserved.metadata = ["b": "c"]
    along.preserved.tags = ["t": "u"]
    let preserved = try headers(along)
    #expect(preserved["Content-Type"] == "text/html" && preserved["x-amz-meta-b"] == "c")
    #expect(preserved["x-amz-tagging"] == "t=u" && preserved["x-amz-tagging-directive"] == "REPLACE")
    let told = try headers(source(10)) {
      $0.metadata = ["A": "b"]
      $0.tags = ["t": "u"]
      $0.storageClass = "STANDARD_IA"
      $0.acl = "private"
      $0.serverSideEncryption = "AES256"
    }
    #expect(told["x-amz-metadata-directive"] == "REPLACE" && told["x-amz-meta-a"] == "b")
    #expect(told["x-amz-tagging-directive"] == "REPLACE" && told["x-amz-tagging"] == "t=u")
    #expect(told["x-amz-storage-class"] == "STANDARD_IA" && told["x-amz-acl"] == "private")
    #expect(told["x-amz-server-side-encryption"] == "AES256")
    // The copy keeps the source's kind of checksum, which the two are compared by.
    let sums = source(10) { $0.digests = [.sha256: "00"] }
    #expect(try headers(sums)["x-amz-checksum-algorithm"] == nil)
    #expect(try headers(sums) { $0.checksum = .sha256 }["x-amz-checksum-algorithm"] == "SHA256")
    #expect(try headers(source(10)) { $0.checksum = .none }["x-amz-checksum-algorithm"] == nil)
  }

  @Test func partsAreNamedByTheirRanges() throws {
    let copy = try copy()
    let large = source(12 << 20, chunk: 5 << 20)
    let open = try #require(copy.open(large, renewing: nil))
    #expect(open.url.text == "http://h:1/new/k2?uploads=" && open.headers["Content-Type"] == "text/plain")
    let session = RemoteSession(id: "u+1", chunkSize: 5 << 20)
    let part = UploadChunk(index: 1, range: 5 << 20..<10 << 20)
    let request = copy.put(part, session: session, source: large)
    #expect(request.url.text == "http://h:1/new/k2?partNumber=2&uploadId=u%2B1")
    #expect(request.headers["x-amz-copy-source-range"] == "bytes=5242880-10485759")
    #expect(request.headers["x-amz-copy-source-if-match"] == "\"e1\"")
    #expect(request.headers["x-amz-metadata-directive"] == nil && request.body == .bytes([]))
    // Above 5 GiB always, and where nothing may stand there: only complete is refused for that.
    #expect(copy.open(source(5 << 30 + 1, chunk: 6 << 30), renewing: nil) != nil)
    #expect(copy.open(source(5 << 30, chunk: 6 << 30), renewing: nil) == nil)
    var new = source(10)
    new.mustBeNew = true
    #expect(copy.open(new, renewing: nil) != nil)
    #expect(copy.put(chunk, session: session, source: new).headers["x-amz-copy-source-range"] == nil)
    let close = copy.finalize(
      session, source: new, chunks: [ChunkRecord(offset: 0, length: 10, digest: "", receipt: "e9")])
    #expect(close?.headers["If-None-Match"] == "*")
    if case .bytes(let body)? = close?.body {
      let text = String(decoding: body, as: UTF8.self)
      #expect(text.contains("&quot;e9&quot;") && !text.contains("Checksum"))
    }
  }

  @Test(arguments: ["CopyObjectResult", "CopyPartResult"]) func answers(_ root: String) throws {
    let copy = try copy()
    let text =
      "<?xml version=\"1.0\"?>\n   \n<\(root)><ETag>&quot;e2&quot;</ETag><ChecksumCRC64NVME>AAAAAAAAAAA=</ChecksumCRC64NVME></\(root)>"
    let receipt = try copy.accepted(
      response(200, text, ["x-amz-version-id": "v2"]), chunk: chunk, now: 0
    ).get()
    #expect(receipt.token == "e2" && receipt.version == "v2")
    #expect(receipt.digests == [.crc64nvme: "0000000000000000"] && receipt.likelyMD5 == nil)
  }

  /// A late error comes with 200; a store that does not know copies stores nothing and says so to nobody.
  @Test(arguments: [
    (200, "\n  \n<Error><Code>InternalError</Code></Error>", ErrorCode.serverError, FailureClass.transient),
    (200, "<Error><Code>SlowDown</Code></Error>", .rateLimited, .transient),
    (200, "", .protocolViolation, .permanent), (200, "<html/>", .protocolViolation, .permanent),
    (200, "<CopyObjectResult><ETag>\"\"</ETag></CopyObjectResult>", .protocolViolation, .permanent),
    (412, "<Error><Code>PreconditionFailed</Code></Error>", .remoteChanged, .sourceChanged),
    (412, "", .remoteChanged, .sourceChanged),
    (403, "<Error><Code>AccessDenied</Code></Error>", .forbidden, .denied),
    (404, "<Error><Code>NoSuchUpload</Code></Error>", .sessionExpired, .sessionGone),
    (404, "<Error><Code>NoSuchKey</Code></Error>", .notFound, .permanent),
    // One that is named by its version, which somebody has deleted.
    (404, "<Error><Code>NoSuchVersion</Code></Error>", .remoteChanged, .sourceChanged),
    (409, "<Error><Code>ConditionalRequestConflict</Code></Error>", .serverError, .transient),
    (501, "<Error><Code>NotImplemented</Code></Error>", .protocolViolation, .permanent),
    (405, "<Error><Code>MethodNotAllowed</Code></Error>", .protocolViolation, .permanent),
  ])
  func refusals(_ status: Int, _ body: String, _ code: ErrorCode, _ meaning: FailureClass) throws {
    let result = try copy().accepted(response(status, body), chunk: chunk, now: 0)
    guard case .failure(let failure) = result else {
      Issue.record("\(status) \(body) was taken")
      return
    }
    #expect(failure.code == code && failure.class == meaning, "\(failure)")
  }
}
