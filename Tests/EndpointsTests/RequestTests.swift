import Endpoints
import Foundation
import JobModel
import Testing

/// Names that URLs have opinions about.
private let names: [(name: String, encoded: String)] = [
  ("a.txt", "a.txt"), ("a b", "a%20b"), ("#1", "%231"), ("what?", "what%3F"), ("50%", "50%25"),
  ("ü/漢", "%C3%BC/%E6%BC%A2"),
  ("a+b&c", "a%2Bb%26c"), ("%41", "%2541"),
]

struct HTTPRequestTests {
  @Test func ranges() throws {
    let url = try #require(WebURL("http://h/f"))
    var object = RemoteObject()
    let first = HTTPDownload(url: url).get(0..<8, of: object)
    #expect(
      first.method == "GET" && first.headers["Range"] == "bytes=0-7" && first.headers["If-Range"] == nil)
    #expect(first.headers["Accept-Encoding"] == "identity")
    object.etag = "\"x\""
    let next = HTTPDownload(url: url).get(8..<9, of: object)
    #expect(next.headers["Range"] == "bytes=8-8" && next.headers["If-Range"] == "\"x\"")
    let whole = HTTPDownload(url: url).get(nil, of: object)
    #expect(
      whole.headers["Range"] == nil && whole.headers["If-Range"] == nil, "If-Range without Range is forbidden"
    )
    #expect(HTTPDownload(url: url).probe().method == "HEAD")
    #expect(HTTPDownload(url: url).describe(RemoteObject()) == nil)
  }

  @Test func put() throws {
    let url = try #require(WebURL("http://h/f"))
    let upload = HTTPUpload(url: url)
    let source = UploadSource(size: 9, contentType: "text/plain", chunkSize: 9)
    let request = upload.put(UploadChunk(index: 0, range: 0..<9), session: nil, source: source)
    #expect(
      request.method == "PUT" && request.body == .source(0..<9)
        && request.headers["Content-Type"] == "text/plain")
    #expect(request.headers["Content-Range"] == nil, "a whole PUT has no Content-Range (RFC 9110, 14.5)")
    #expect(request.headers["If-None-Match"] == nil)
    var new = source
    new.mustBeNew = true
    let kept = upload.put(UploadChunk(index: 0, range: 0..<9), session: nil, source: new)
    #expect(kept.headers["If-None-Match"] == "*")
    #expect(!upload.abilities.resumes && !upload.abilities.isParallel)
    for (status, code) in [
      (200, nil), (201, nil), (204, nil), (401, .unauthorized), (403, .forbidden), (409, .protocolViolation),
      (413, .protocolViolation), (501, .protocolViolation), (507, .serverError), (503, .serverError),
    ] as [(Int, ErrorCode?)] {
      let verdict = upload.accepted(
        response(status, url: url), chunk: UploadChunk(index: 0, range: 0..<9), now: 0)
      #expect(code == failureCode(verdict), "\(status)")
    }
  }
}

struct SessionRequestTests {
  private let source = UploadSource(
    size: 25, contentType: "text/plain", chunkSize: 10, digests: [.sha256: "ab"])

  private func upload(_ name: String = "a.txt", _ form: SessionChunkForm = .index) throws -> SessionUpload {
    SessionUpload(base: try #require(WebURL("http://h/api")), fileName: name, form: form)
  }

  private func body(_ request: Request?) throws -> [String: Any] {
    guard case .bytes(let bytes) = try #require(request).body else { return [:] }
    return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
  }

  @Test(
    arguments: [
      (413, #"{"maxChunkSize":4}"#, 4), (413, #"{"limit":8}"#, 8), (413, #"{"maxChunkSize":"4"}"#, 4),
      (413, "{}", nil), (413, "<p>", nil),
      (400, #"{"maxChunkSize":4}"#, nil),
    ] as [(Int, String, Int64?)])
  func tellsTheLargestChunk(_ status: Int, _ body: String, _ limit: Int64?) throws {
    #expect(try upload().chunkLimit(response(status, body)) == limit)
  }

  @Test func keysSessions() throws {
    var keyed = source
    keyed.key = "k"
    let old = RemoteSession(id: "s", chunkSize: 10)
    #expect(try upload().keysSessions)
    #expect(try upload().open(keyed, renewing: nil)?.headers["Idempotency-Key"] == "\"k\"")
    #expect(try upload().open(keyed, renewing: old)?.headers["Idempotency-Key"] == nil)
  }

  @Test func downloads() throws {
    let base = try #require(WebURL("http://h/api"))
    for (name, encoded) in names {
      let download = SessionDownload(base: base, path: name)
      #expect(download.url.text == "http://h/api/files/\(encoded)")
      #expect(download.probe().url.text == "http://h/api/files/\(encoded)/meta")
      #expect(download.get(0..<5, of: RemoteObject()).url.text == "http://h/api/files/\(encoded)")
    }
    #expect(SessionDownload(base: base, path: "meta").url.text == "http://h/api/files/%6Deta")
    #expect(
      SessionDownload(base: base, path: "d/meta").probe().url.text == "http://h/api/files/d/%6Deta/meta")
    #expect(SessionDownload(base: base, path: "meta/d").url.text == "http://h/api/files/meta/d")
    #expect(SessionDownload(base: base, path: "abc").remoteID(of: RemoteObject()) == "abc")
    #expect(SessionDownload(base: base, path: "a/b").remoteID(of: RemoteObject()) == nil)
  }

  @Test func metadata() throws {
    let digest = String(repeating: "AB", count: 32)
    let download = SessionDownload(base: try #require(WebURL("http://h")), path: "x")
    let good = #"{"size":12,"sha256":"\#(digest)","mimeType":"text/plain","etag":"\"e\""}"#
    guard case .success(let object) = download.probed(response(200, good), now: 0) else {
      Issue.record("good metadata were refused")
      return
    }
    #expect(object.size == 12 && object.etag == "\"e\"" && object.contentType == "text/plain")
    #expect(object.digests == [.sha256: digest.lowercased()])
    for (told, etag) in [("e", "\"e\""), (#"W/\"e\""#, "W/\"e\""), ("", nil)] as [(String, String?)] {
      let bare = download.probed(response(200, #"{"size":12,"etag":"\#(told)"}"#), now: 0)
      #expect(try bare.get().etag == etag, "JSON needs no quotes in it")
    }
    #expect(try download.probed(response(200, #"{"size":"12"}"#), now: 0).get().size == 12)
    let named = #"{"size":12,"sha256":"sha256:\#(digest)"}"#
    #expect(try download.probed(response(200, named), now: 0).get().digests == object.digests)
    #expect(try download.probed(response(200, #"{"size":12,"sha256":""}"#), now: 0).get().digests.isEmpty)
    for (status, body, code) in [
      (200, "", .protocolViolation), (200, "[]", .protocolViolation),
      (200, #"{"size":"12x"}"#, .protocolViolation),
      (200, #"{"size":-1}"#, .protocolViolation), (404, "", .notFound), (401, "", .unauthorized),
      (500, "", .serverError),
    ] as [(Int, String, ErrorCode)] {
      #expect(failureCode(download.probed(response(status, body), now: 0)) == code, "\(status) \(body)")
    }
  }

  /// A back end without metadata is asked for the file's first byte.
  @Test(
    arguments: [
      (404, "", true), (404, "<p>", true), (404, #"{"detail":"Not Found"}"#, true), (405, "", true),
      (501, "", true), (404, #"{"code":"NOT_FOUND"}"#, false), (403, "", false), (500, "", false),
    ] as [(Int, String, Bool)])
  func noMetadata(_ status: Int, _ body: String, _ isAsked: Bool) throws {
    let download = SessionDownload(base: try #require(WebURL("http://h")), path: "x")
    let refused = response(status, body, url: download.probe().url)
    let question = download.question(after: refused, to: download.probe())
    #expect((question?.url == download.url) == isAsked && (question == nil) == !isAsked)
    #expect(question?.headers["Range"] == (isAsked ? "bytes=0-0" : nil))
    #expect(download.question(after: refused, to: download.get(nil, of: RemoteObject())) == nil)
    let head = ResponseHead(status: 206, headers: ["Content-Range": "bytes 0-0/77", "ETag": "\"e\""])
    let object = try download.probed(Response(head: head, url: download.url), now: 0).get()
    #expect(object.size == 77 && object.etag == "\"e\"" && object.servesRanges == true)
    #expect(failureCode(download.probed(response(404, url: download.url), now: 0)) == .notFound)
  }

  @Test func create() throws {
    for (name, _) in names {
      let request = try #require(try upload(name).open(source, renewing: nil))
      #expect(request.method == "POST" && request.url.text == "http://h/api/uploads/sessions")
      #expect(request.headers["Content-Type"] == "application/json")
      let members = try body(request)
      #expect(members["fileName"] as? String == name)
      #expect(members["fileSize"] as? Int == 25 && members["chunkSize"] as? Int == 10)
      #expect(members["mimeType"] as? String == "text/plain" && members["fileHashSha256"] as? String == "ab")
      #expect(members["resumeFrom"] == nil)
    }
    let renewal = try upload().open(source, renewing: RemoteSession(id: "old", chunkSize: 10))
    #expect(try body(renewal)["resumeFrom"] as? String == "old")
    // A create that may be repeated says so; a renewal is known by what it renews.
    var keyed = source
    keyed.key = "k1"
    #expect(try upload().open(keyed, renewing: nil)?.headers["Idempotency-Key"] == "\"k1\"")
    #expect(try upload().open(source, renewing: nil)?.headers["Idempotency-Key"] == nil)
    let old = RemoteSession(id: "old", chunkSize: 10)
    #expect(try upload().open(keyed, renewing: old)?.headers["Idempotency-Key"] == nil)
  }

  @Test func created() throws {
    let session = try upload()
    func opened(_ status: Int, _ text: String) -> Result<RemoteSession, Failure> {
      session.opened(response(status, text), source: source, now: 0)
    }
    let full = """
      {"sessionId":"s","expiresAt":"1970-01-01T00:10:00Z","chunkSize":8,"maxChunkSize":16,\
      "requiredHeaders":{"X-A":"1"}}
      """
    guard case .success(let made) = opened(201, full) else {
      Issue.record("a good session was refused")
      return
    }
    #expect(try opened(202, full).get() == made, "some say 202 of what is done")
    #expect(made == RemoteSession(id: "s", chunkSize: 8, expiresAt: 600, requiredHeaders: ["X-A": "1"]))
    if case .success(let bare) = opened(201, #"{"sessionId":"s"}"#) { #expect(bare.chunkSize == 10) }
    if case .success(let limited) = opened(201, #"{"sessionId":"s","maxChunkSize":4}"#) {
      #expect(limited.chunkSize == 4)
    }
    // Numbers as text, and ids and headers as numbers.
    let loose =
      #"{"sessionId":1000,"chunkSize":"8","maxChunkSize":"6","requiredHeaders":{"X-A":5,"X-B":"b","X-C":null}}"#
    #expect(
      try opened(201, loose).get()
        == RemoteSession(id: "1000", chunkSize: 6, requiredHeaders: ["X-A": "5", "X-B": "b"]))
    for (status, text, code) in [
      (201, "{}", .protocolViolation), (201, "", .protocolViolation),
      (201, #"{"sessionId":"s","chunkSize":"8k"}"#, .protocolViolation),
      (201, #"{"sessionId":"s","maxChunkSize":[8]}"#, .protocolViolation),
      (201, #"{"sessionId":1.5}"#, .protocolViolation),
      (201, #"{"sessionId":""}"#, .protocolViolation),
      (201, #"{"sessionId":"s","chunkSize":0}"#, .protocolViolation), (413, "{}", .protocolViolation),
      (401, "", .unauthorized), (403, "", .forbidden), (503, "", .serverError), (429, "", .rateLimited),
    ] as [(Int, String, ErrorCode)] {
      #expect(failureCode(opened(status, text)) == code, "\(status) \(text)")
    }
  }

  @Test func chunks() throws {
    let session = RemoteSession(
      id: "s/1", chunkSize: 10, requiredHeaders: ["X-A": "1", "content-type": "x/y"])
    let last = UploadChunk(index: 2, range: 20..<25, digests: [.sha256: "cd"])
    let request = try upload().put(last, session: session, source: source)
    #expect(request.method == "PUT" && request.body == .source(20..<25))
    #expect(request.url.text == "http://h/api/uploads/sessions/s%2F1/chunks/2")
    #expect(request.headers["Content-Range"] == "bytes 20-24/25")
    #expect(request.headers["X-Chunk-Hash"] == "sha256=cd")
    #expect(request.headers["X-A"] == "1" && request.headers.combined("Content-Type") == "x/y")
    let ranged = try upload("a", .range).put(last, session: session, source: source)
    #expect(ranged.url.text == "http://h/api/uploads/sessions/s%2F1/chunks")
    let place = "http://h/api/uploads/sessions/s%2F1"
    #expect(
      try upload().query(session, after: nil)?.url.text == place
        && upload().query(session, after: nil)?.method == "GET")
    #expect(try upload().abort(session)?.url.text == place && upload().abort(session)?.method == "DELETE")
    let close = try upload().finalize(session, source: source, chunks: [])
    #expect(close?.url.text == place + "/finalize" && close?.method == "POST")
    #expect(try body(close)["fileHashSha256"] as? String == "ab")
  }

  /// endpoints.md, The chunk-session API: every refusal, as a chunk and as a finalize meets it.
  @Test func refusals() throws {
    let session = try upload()
    let chunk = UploadChunk(index: 3, range: 0..<1)
    for (status, body, code, lost) in [
      (422, #"{"code":"CHUNK_HASH_MISMATCH"}"#, .integrityMismatch, false),
      (409, #"{"code":"CHUNK_CONFLICT"}"#, .chunkConflict, false), (404, "", .sessionExpired, true),
      (410, #"{"code":"SESSION_EXPIRED"}"#, .sessionExpired, true),
      (404, #"{"code":"X"}"#, .sessionExpired, true),
      (409, #"{"code":"CHUNKS_MISSING","missing":[1,4]}"#, .integrityMismatch, false),
      (422, #"{"code":"INTEGRITY_MISMATCH","expected":"e","actual":"f"}"#, .integrityMismatch, false),
      (422, #"{"code":"SIZE_MISMATCH"}"#, .integrityMismatch, false), (422, "", .integrityMismatch, false),
      (400, #"{"errorCode":"HASH_MISMATCH"}"#, .integrityMismatch, false),
      (400, #"{"error":{"code":"checksumMismatch"}}"#, .integrityMismatch, false),
      (460, "Checksum Mismatch", .integrityMismatch, false),
      (422, #"{"code":"VIRUS_FOUND"}"#, .protocolViolation, false),
      (403, #"{"code":"TOKEN_MISMATCH"}"#, .forbidden, false),
      (409, #"{"code":"NAME_CONFLICT"}"#, .permissionDenied, false),
      (413, #"{"maxChunkSize":4}"#, .protocolViolation, false), (400, "", .protocolViolation, false),
      (401, "", .unauthorized, false), (403, "", .forbidden, false), (429, "", .rateLimited, false),
      (500, "", .serverError, false), (507, "", .serverError, false),
    ] as [(Int, String, ErrorCode, Bool)] {
      let one = session.accepted(response(status, body), chunk: chunk, now: 0)
      #expect(failureCode(one) == code && losesSession(one) == lost, "chunk: \(status) \(body)")
      if !lost, case .failure(let failure) = one { #expect(failure.chunk == 3) }
      let all = session.finalized(response(status, body))
      #expect(failureCode(all) == code && losesSession(all) == lost, "finalize: \(status) \(body)")
    }
    for status in [200, 201, 204] {
      #expect(failureCode(session.accepted(response(status), chunk: chunk, now: 0)) == nil)
    }
    guard
      case .failure(let missing) = session.finalized(
        response(409, #"{"code":"CHUNKS_MISSING","missing":[1,4]}"#))
    else { return }
    #expect(missing.actual == "missing: 1,4" && missing.missingChunks == [1, 4])
  }

  @Test func holdings() throws {
    let open = RemoteSession(id: "s", chunkSize: 10)
    let session = try upload()
    func queried(_ status: Int, _ text: String) -> Result<SessionHoldings, Failure> {
      session.queried(response(status, text), session: open, source: source, now: 0)
    }
    let good = #"{"receivedChunks":[0,2],"fileSize":25,"chunkSize":10,"expiresAt":"1970-01-01T00:00:07Z"}"#
    guard case .success(let holdings) = queried(200, good) else {
      Issue.record("good holdings were refused")
      return
    }
    #expect(holdings == SessionHoldings(chunks: [0: HeldChunk(), 2: HeldChunk()], expiresAt: 7))
    let loose = #"{"receivedChunks":["0","2"],"fileSize":"25","chunkSize":"10","remoteFileId":7}"#
    let finished = try queried(200, loose).get()
    #expect(finished.chunks.keys.sorted() == [0, 2] && finished.finished == UploadedFile(remoteID: "7"))
    for none in [#"{"receivedChunks":null,"fileSize":25}"#, #"{"fileSize":25,"chunkSize":10}"#] {
      #expect(try queried(200, none).get() == SessionHoldings(), "Go writes an empty list so")
    }
    #expect(losesSession(queried(200, #"{"receivedChunks":[],"fileSize":24}"#)))
    #expect(losesSession(queried(200, #"{"receivedChunks":[],"fileSize":"24"}"#)))
    #expect(losesSession(queried(200, #"{"receivedChunks":[],"fileSize":25,"chunkSize":9}"#)))
    #expect(losesSession(queried(404, "")) && losesSession(queried(410, #"{"code":"SESSION_EXPIRED"}"#)))
    #expect(failureCode(queried(200, "{}")) == .protocolViolation)
    #expect(failureCode(queried(503, "")) == .serverError)
  }

  @Test func sessionsThatCanNotBeUsed() throws {
    let terabyte = UploadSource(size: 1 << 40, contentType: "a/b", chunkSize: 1 << 20)
    let tiny = try upload().opened(
      response(201, #"{"sessionId":"s","maxChunkSize":1}"#), source: terabyte, now: 0)
    #expect(failureCode(tiny) == .protocolViolation)
    for bad in [
      #"{"sessionId":"."}"#, #"{"sessionId":".."}"#, #"{"sessionId":"s","requiredHeaders":{"a b":"c"}}"#,
      #"{"sessionId":"s","requiredHeaders":{"X-A":"b\r\nX-B: c"}}"#,
      #"{"sessionId":"s","requiredHeaders":{"X-A":"\#(String(repeating: "a", count: 65_536))"}}"#,
      #"{"sessionId":"s","requiredHeaders":{"content-range":"bytes 0-0/1"}}"#,
      #"{"sessionId":"s","requiredHeaders":{"Transfer-Encoding":"chunked"}}"#,
      #"{"sessionId":"s","requiredHeaders":{"X-A":["b"]}}"#,
    ] {
      let opened = try upload().opened(response(201, bad), source: source, now: 0)
      #expect(failureCode(opened) == .protocolViolation, "\(bad)")
    }
  }

  /// A wrong URL is not told as a session that has ended; one that was to be renewed is gone for both.
  @Test func noSessionsHere() throws {
    for (status, text, code) in [
      (404, "", .notFound), (404, "<html>", .notFound), (410, #"{"code":"X"}"#, .notFound),
      (404, #"{"code":"SESSION_EXPIRED"}"#, .sessionExpired),
    ] as [(Int, String, ErrorCode)] {
      let opened = try upload().opened(response(status, text), source: source, now: 0)
      #expect(failureCode(opened) == code && losesSession(opened), "\(status) \(text)")
    }
  }

  @Test func finished() throws {
    let digest = String(repeating: "AB", count: 32)
    let text = #"{"remoteFileId":"r","fileHashSha256":"\#(digest)"}"#
    guard case .success(let file) = try upload().finalized(response(201, text)) else {
      Issue.record("a finished upload was refused")
      return
    }
    #expect(try upload().finalized(response(202, text)).get() == file)
    #expect(failureCode(try upload().finalized(response(204))) == .protocolViolation)
    #expect(file == UploadedFile(remoteID: "r", digests: [.sha256: digest.lowercased()]))
    for (told, digests) in [
      ("sha256=\(digest)", [.sha256: digest.lowercased()]),
      ("SHA256:\(digest)", [.sha256: digest.lowercased()]),
      ("", [:]),
    ] as [(String, [DigestAlgorithm: String])] {
      let text = #"{"remoteFileId":"r","fileHashSha256":"\#(told)"}"#
      #expect(try upload().finalized(response(200, text)).get().digests == digests, "\(told)")
    }
    #expect(try upload().finalized(response(200, #"{"remoteFileId":4711}"#)).get().remoteID == "4711")
    #expect(failureCode(try upload().finalized(response(200, "{}"))) == .protocolViolation)
    for bad in [
      #"{"remoteFileId":".."}"#, #"{"remoteFileId":"a/../../b"}"#,
      #"{"remoteFileId":"r","fileHashSha256":"\#(digest)0"}"#,
      #"{"remoteFileId":"r","fileHashSha256":"\#(digest.dropLast())\u0301g"}"#,
      #"{"remoteFileId":"r","fileHashSha256":1}"#, #"{"remoteFileId":"r","fileHashSha256":"md5=\#(digest)"}"#,
    ] {
      #expect(failureCode(try upload().finalized(response(200, bad))) == .protocolViolation, "\(bad)")
    }
    #expect(try upload().inspect(file)?.url.text == "http://h/api/files/r/meta")
    #expect(try upload().readback(file)?.url.text == "http://h/api/files/r")
    #expect(try upload().look()?.url.text == "http://h/api/files/a.txt/meta")
  }
}

private func response(_ status: Int, _ body: String = "", url: WebURL? = WebURL("http://h/x")) -> Response {
  guard let url else { preconditionFailure("the test's URL is wrong") }
  return Response(head: ResponseHead(status: status), body: Array(body.utf8), url: url)
}

private func failureCode<Value>(_ verdict: Result<Value, Failure>) -> ErrorCode? {
  switch verdict {
  case .success: nil
  case .failure(let failure): failure.code
  }
}

extension SessionUpload {
  fileprivate func finalized(_ response: Response) -> Result<UploadedFile, Failure> {
    finalized(
      response, session: RemoteSession(id: "s", chunkSize: 10),
      source: UploadSource(size: 25, contentType: "a/b", chunkSize: 10), chunks: [], now: 0)
  }
}
