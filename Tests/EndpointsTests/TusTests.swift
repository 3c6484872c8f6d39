import Endpoints
import JobModel
import Testing

struct TusTests {
  private let source = UploadSource(size: 25, contentType: "text/plain", chunkSize: 10)
  private let chunk = UploadChunk(
    index: 1, range: 10..<20,
    digests: [.sha256: String(repeating: "ab", count: 32), .sha1: String(repeating: "01", count: 20)])

  private func upload(
    _ name: String = "a.txt", at url: String = "http://h/files", metadata: [String: String] = [:]
  ) throws -> TusUpload {
    TusUpload(url: try #require(WebURL(url)), fileName: name, metadata: metadata)
  }

  private func session(_ facts: [String: String] = [:], at url: String = "http://h/files/1") -> RemoteSession
  {
    RemoteSession(id: url, chunkSize: 10, facts: facts)
  }

  private func response(_ status: Int, _ headers: HeaderList = [:], from url: String = "http://h/files")
    -> Response
  {
    guard let url = WebURL(url) else { preconditionFailure("the test's URL is wrong") }
    return Response(head: ResponseHead(status: status, headers: headers), url: url)
  }

  @Test func creation() throws {
    let request = try #require(
      try upload("ü b.txt", metadata: ["team": "x", "empty": ""]).open(source, renewing: nil))
    #expect(request.method == "POST" && request.url.text == "http://h/files" && request.body == .none)
    #expect(request.headers["Tus-Resumable"] == "1.0.0" && request.headers["Upload-Length"] == "25")
    #expect(
      request.headers["Upload-Metadata"] == "filename w7wgYi50eHQ=,filetype dGV4dC9wbGFpbg==,empty,team eA==")
  }

  /// Location, where the endpoint is, where the upload is; nil where it is refused.
  @Test(arguments: [
    ("http://h/files/1", "http://h/files", "http://h/files/1"),
    ("/files/1", "http://h/files", "http://h/files/1"),
    ("files/1?k=v", "http://h/files", "http://h/files/1?k=v"),
    ("1", "http://h/files/", "http://h/files/1"),
    ("//other/1", "http://h/files", "http://other/1"),
    ("https://h/files/1", "http://h/files", "https://h/files/1"),
    ("http://h/files/1", "https://h/files", nil),
    ("ftp://h/1", "http://h/files", nil),
  ]) func location(_ location: String, _ endpoint: String, _ place: String?) throws {
    let upload = try upload(at: endpoint)
    let verdict = upload.opened(response(201, ["Location": location], from: endpoint), source: source, now: 0)
    guard case .success(let session) = verdict else {
      #expect(place == nil)
      return
    }
    #expect(session.id == place && session.chunkSize == 10)
    // Credentials stay where they belong.
    let isHome = place.flatMap { WebURL($0) }?.origin == WebURL(endpoint)?.origin
    for request in [
      upload.query(session, after: nil), upload.put(chunk, session: session, source: source),
      upload.abort(session),
      upload.inspect(UploadedFile(remoteID: session.id)),
      upload.readback(UploadedFile(remoteID: session.id))?.get(nil, of: RemoteObject()),
    ] {
      #expect(request?.url.text == place)
      #expect(request?.isAuthorised == isHome, "\(request?.method ?? "none")")
    }
  }

  @Test func created() throws {
    let headers: HeaderList = ["Location": "/files/1", "Upload-Expires": "Thu, 01 Jan 1970 00:01:00 GMT"]
    guard case .success(let session) = try upload().opened(response(201, headers), source: source, now: 0)
    else {
      Issue.record("a creation was refused")
      return
    }
    #expect(session.expiresAt == 60)
    for (status, code) in [
      (201, .protocolViolation), (400, .protocolViolation), (401, .unauthorized), (403, .forbidden),
      (412, .protocolViolation), (413, .protocolViolation), (423, .serverError), (503, .serverError),
    ] as [(Int, ErrorCode)] {
      let verdict = try upload().opened(response(status), source: source, now: 0)
      #expect(failureCode(verdict) == code, "\(status)")
    }
    #expect(
      message(try upload().opened(response(412, ["Tus-Version": "0.2.2"]), source: source, now: 0)).contains(
        "0.2.2"))
  }

  /// Answers to OPTIONS, and what is remembered of them; nil where the file can't go there.
  @Test(
    arguments: [
      (204, [:], [:]),
      (405, ["Tus-Extension": "creation"], [:]),
      (
        200, ["Tus-Version": "1.0.0,0.2.2", "Tus-Extension": "creation, termination"],
        ["extensions": "creation,termination"]
      ),
      (
        204, ["Tus-Extension": "checksum", "Tus-Checksum-Algorithm": "md5,sha1"],
        ["extensions": "checksum", "checksum": "sha1"]
      ),
      (
        204, ["Tus-Extension": "checksum", "Tus-Checksum-Algorithm": "crc32, SHA256"],
        ["extensions": "checksum", "checksum": "sha256"]
      ),
      (204, ["Tus-Extension": "checksum", "Tus-Checksum-Algorithm": "crc32"], ["extensions": "checksum"]),
      (204, ["Tus-Version": "2.0.0"], nil),
      (204, ["Tus-Max-Size": "25"], [:]),
      (204, ["Tus-Max-Size": "24"], nil),
    ] as [(Int, HeaderList, [String: String]?)])
  func preparation(_ status: Int, _ headers: HeaderList, _ facts: [String: String]?) throws {
    #expect(try upload().preparation()?.method == "OPTIONS")
    switch try upload().prepared(response(status, headers), source: source, now: 0) {
    case .success(let told): #expect(told == facts)
    case .failure(let failure):
      #expect(facts == nil && failure.message.contains("http://h/files"))
      #expect(failure.class != .sessionGone, "there is no session yet")
    }
  }

  @Test func patch() throws {
    let plain = try upload().put(chunk, session: session(), source: source)
    #expect(plain.method == "PATCH" && plain.body == .source(10..<20))
    #expect(plain.headers["Content-Type"] == "application/offset+octet-stream")
    #expect(plain.headers["Upload-Offset"] == "10" && plain.headers["Tus-Resumable"] == "1.0.0")
    #expect(plain.headers["Upload-Checksum"] == nil && plain.headers["Content-Range"] == nil)
    #expect(try upload().chunkDigests(in: session()) == [.sha256])
    #expect(try !upload().provesUpload(in: session()))
    let checked = session(["checksum": "sha1", "extensions": "checksum"])
    #expect(try upload().chunkDigests(in: checked) == [.sha256, .sha1])
    #expect(try upload().provesUpload(in: checked))
    #expect(
      try upload().put(chunk, session: checked, source: source).headers["Upload-Checksum"]
        == "sha1 AQEBAQEBAQEBAQEBAQEBAQEBAQE=")
    #expect(try upload().chunkDigests(in: session(["checksum": "sha256"])) == [.sha256])
    #expect(try upload().abort(checked) == nil, "termination is not offered")
    #expect(try upload().abort(session())?.method == "DELETE")
    #expect(
      try upload().closed(checked, receipt: nil).checks == [
        Verification("sha1 of each chunk", .server, .match)
      ])
    #expect(try upload().closed(session(), receipt: nil) == UploadedFile(remoteID: "http://h/files/1"))
  }

  /// Answers to a PATCH that ends at 20: what each means.
  @Test(
    arguments: [
      (204, "20", nil, false), (200, "20", nil, false), (204, nil, .protocolViolation, false),
      (204, "15", .serverError, false), (204, "21", .serverError, false),
      (400, nil, .protocolViolation, false),
      (401, nil, .unauthorized, false), (403, nil, .forbidden, false), (404, nil, .sessionExpired, true),
      (409, nil, .chunkConflict, false), (410, nil, .sessionExpired, true),
      (412, nil, .protocolViolation, false),
      (413, nil, .protocolViolation, false), (415, nil, .protocolViolation, false),
      (423, nil, .serverError, false),
      (429, nil, .rateLimited, false), (460, nil, .integrityMismatch, false), (500, nil, .serverError, false),
    ] as [(Int, String?, ErrorCode?, Bool)])
  func patched(_ status: Int, _ offset: String?, _ code: ErrorCode?, _ isLost: Bool) throws {
    let headers: HeaderList = offset.map { ["Upload-Offset": $0] } ?? [:]
    let verdict = try upload().accepted(response(status, headers), chunk: chunk, now: 0)
    #expect(failureCode(verdict) == code)
    #expect(losesSession(verdict) == isLost)
    // Only a chunk that was refused by its checksum is sent again.
    if case .failure(let failure) = verdict { #expect((failure.chunk == 1) == (status == 460)) }
    // A conflict is settled by the offset that the server names.
    if case .failure(let failure) = verdict, status == 409 { #expect(failure.class == .damaged(chunk: 1)) }
  }

  @Test func renewedExpiry() throws {
    let headers: HeaderList = ["Upload-Offset": "20", "Upload-Expires": "Thu, 01 Jan 1970 00:02:00 GMT"]
    guard case .success(let receipt) = try upload().accepted(response(204, headers), chunk: chunk, now: 0)
    else {
      Issue.record("a chunk was refused")
      return
    }
    #expect(receipt.expiresAt == 120)
  }

  @Test(
    arguments: [
      (200, "7", "25", 7, nil), (204, "25", nil, 25, nil), (200, nil, "25", nil, .protocolViolation),
      (200, "7", "26", nil, .protocolViolation), (200, "26", nil, nil, .protocolViolation),
      (404, nil, nil, nil, .sessionExpired), (410, nil, nil, nil, .sessionExpired),
      (403, nil, nil, nil, .sessionExpired), (401, nil, nil, nil, .unauthorized),
      (503, nil, nil, nil, .serverError),
    ] as [(Int, String?, String?, Int64?, ErrorCode?)])
  func offsets(_ status: Int, _ offset: String?, _ length: String?, _ held: Int64?, _ code: ErrorCode?) throws
  {
    #expect(try upload().query(session(), after: nil)?.method == "HEAD")
    var headers = HeaderList()
    if let offset { headers.append("Upload-Offset", offset) }
    if let length { headers.append("Upload-Length", length) }
    let verdict = try upload().queried(response(status, headers), session: session(), source: source, now: 0)
    #expect(failureCode(verdict) == code)
    if case .success(let holdings) = verdict { #expect(holdings.offset == held && holdings.chunks.isEmpty) }
  }

  /// An id may be another's by now: what the server says of it tells.
  @Test func anotherFilesUpload() throws {
    let told: HeaderList = [
      "Upload-Offset": "7", "Upload-Metadata": "filename \(Base64.encode(Array("other".utf8)))",
    ]
    let verdict = try upload().queried(response(200, told), session: session(), source: source, now: 0)
    guard case .failure(let failure) = verdict else {
      Issue.record("a stranger's upload was gone on with")
      return
    }
    #expect(failure.class == .sessionGone)
  }

  @Test func downloads() throws {
    let endpoint = try #require(WebURL("http://h/files"))
    let download = TusDownload(url: endpoint.appending("1"), endpoint: endpoint)
    #expect(download.probe().headers["Tus-Resumable"] == "1.0.0" && download.probe().method == "HEAD")
    #expect(download.get(0..<5, of: RemoteObject()).headers["Range"] == "bytes=0-4")
    let done: HeaderList = [
      "Upload-Offset": "9", "Upload-Length": "9", "Content-Length": "0",
      "Upload-Metadata": "team eA==,filename YS50eHQ=",
    ]
    guard case .success(let object) = download.probed(response(204, done), now: 0) else {
      Issue.record("a finished upload was refused")
      return
    }
    #expect(object.size == 9 && object.fileName == "a.txt")
    #expect(
      failureCode(download.probed(response(200, ["Upload-Offset": "3", "Upload-Length": "9"]), now: 0))
        == .notFound)
    #expect(failureCode(download.probed(response(404), now: 0)) == .notFound)
    guard case .success(let plain) = download.probed(response(200, ["Content-Length": "4"]), now: 0) else {
      Issue.record("a plain HEAD was refused")
      return
    }
    #expect(plain.size == 4)
  }
}

private func failureCode<Value>(_ verdict: Result<Value, Failure>) -> ErrorCode? {
  switch verdict {
  case .success: nil
  case .failure(let failure): failure.code
  }
}

private func message<Value>(_ verdict: Result<Value, Failure>) -> String {
  switch verdict {
  case .success: ""
  case .failure(let failure): failure.message
  }
}
