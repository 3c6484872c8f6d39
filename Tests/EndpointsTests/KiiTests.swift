import Endpoints
import Foundation
import JobModel
import Testing

struct KiiTests {
  private let source = UploadSource(size: 25, contentType: "image/png", chunkSize: 10, fingerprint: "f1")
  private let session = RemoteSession(id: "up/1", chunkSize: 10)
  private let chunk = UploadChunk(index: 1, range: 10..<20)
  private let body = "https://k/api/apps/app/buckets/box/objects/one/body"

  private func settings(_ scope: KiiSettings.Scope = .app) -> KiiSettings {
    var settings = KiiSettings()
    (settings.appID, settings.bucket, settings.scope) = ("app", "box", scope)
    return settings
  }

  private func upload() throws -> KiiUpload {
    KiiUpload(base: try #require(WebURL("https://k/api")), settings: settings(), objectID: "one")
  }

  private func download() throws -> KiiDownload {
    KiiDownload(base: try #require(WebURL("https://k/api")), settings: settings(), objectID: "one")
  }

  private func response(_ status: Int, _ code: String? = nil, _ headers: HeaderList = [:]) throws -> Response
  {
    let text = code.map { #"{"errorCode":"\#($0)","message":"no"}"# } ?? ""
    return Response(
      head: ResponseHead(status: status, headers: headers), body: Array(text.utf8),
      url: try #require(WebURL("https://k/api/x")))
  }

  @Test(
    arguments: [
      (.app, "one", "app/buckets/box/objects/one"),
      (.user("me"), "one", "app/users/me/buckets/box/objects/one"),
      (.user("EMAIL:a@b.c"), "one", "app/users/EMAIL:a%40b.c/buckets/box/objects/one"),
      (.group("g 1"), "one", "app/groups/g%201/buckets/box/objects/one"),
      (.thing("VENDOR_THING_ID:x/y"), "one", "app/things/VENDOR_THING_ID:x%2Fy/buckets/box/objects/one"),
      (.app, "a/b ü", "app/buckets/box/objects/a%2Fb%20%C3%BC"),
    ] as [(KiiSettings.Scope, String, String)])
  func places(_ scope: KiiSettings.Scope, _ object: String, _ path: String) throws {
    let base = try #require(WebURL("https://k/api"))
    let url = KiiUpload(base: base, settings: settings(scope), objectID: object).url
    #expect(url.text == "https://k/api/apps/\(path)/body")
    #expect(KiiDownload(base: base, settings: settings(scope), objectID: object).url == url)
  }

  @Test func phases() throws {
    let start = try #require(try upload().open(source, renewing: nil))
    #expect(start.method == "POST" && start.url.text == body + "/uploads")
    #expect(start.headers["Content-Type"] == "application/vnd.kii.StartObjectBodyUploadRequest+json")
    #expect(start.headers["Accept"] == "application/vnd.kii.StartObjectBodyUploadResponse+json")
    #expect(start.body == .bytes(Array(#"{"clientHash":"f1"}"#.utf8)))
    let data = try upload().put(chunk, session: session, source: source)
    #expect(data.method == "PUT" && data.url.text == body + "/uploads/up%2F1/data")
    #expect(data.headers["Content-Range"] == "bytes=10-19/25", "Kii's form, not RFC 9110's")
    #expect(data.headers["Content-Type"] == "image/png" && data.body == .source(10..<20))
    let commit = try #require(try upload().finalize(session, source: source, chunks: []))
    #expect(commit.method == "POST" && commit.url.text == body + "/uploads/up%2F1/status/committed")
    let cancel = try #require(try upload().abort(session))
    #expect(cancel.method == "POST" && cancel.url.text == body + "/uploads/up%2F1/status/cancelled")
    #expect(commit.body == .bytes([]) && cancel.body == .bytes([]))
    #expect(try upload().query(session, after: nil) == nil)
    #expect(try upload().look()?.method == "HEAD" && upload().look()?.url.text == body)
    #expect(try upload().closed(session, receipt: nil) == UploadedFile(remoteID: "one"))
    let abilities = try upload().abilities
    #expect(abilities.resumes && abilities.order == .sequential && abilities.emptyFile == .refused)
    #expect(abilities.chunkDigests == [.sha256] && abilities.fileDigests.isEmpty)
    #expect(try !upload().provesUpload(in: session))
  }

  @Test func started() throws {
    var good = try response(200)
    good.body = Array(#"{"uploadID":"u"}"#.utf8)
    guard case .success(let session) = try upload().opened(good, source: source, now: 0) else {
      Issue.record("a start was refused")
      return
    }
    #expect(session == RemoteSession(id: "u", chunkSize: 10))
    good.body = Array(#"{"uploadID":77}"#.utf8)
    #expect(try upload().opened(good, source: source, now: 0).get().id == "77")
    good.body = Array("{}".utf8)
    #expect(failureCode(try upload().opened(good, source: source, now: 0)) == .protocolViolation)
    let missing = try upload().opened(response(404, "OBJECT_NOT_FOUND"), source: source, now: 0)
    #expect(failureCode(missing) == .notFound)
    if case .failure(let failure) = missing { #expect(failure.message.contains("create it first")) }
  }

  /// Status and code, and what each is for a chunk, for a commit, for a download; with it, whether the session is lost.
  @Test(
    arguments: [
      (404, "OBJECT_NOT_FOUND", .notFound, false), (404, "BUCKET_NOT_FOUND", .notFound, false),
      (404, "OBJECT_BODY_NOT_FOUND", .notFound, false),
      (404, "OBJECT_BODY_UPLOAD_NOT_FOUND", .sessionExpired, true),
      (409, "OBJECT_BODY_UPLOAD_ALREADY_EXISTS", .chunkConflict, false),
      (416, "OBJECT_BODY_RANGE_NOT_SATISFIABLE", .sessionExpired, true),
      (412, "OBJECT_BODY_INTEGRITY_NOT_ASSURED", .integrityMismatch, false),
      (409, "OBJECT_VERSION_IS_STALE", .remoteChanged, false),
      (409, "OBJECT_CONFLICT", .remoteChanged, false),
      (410, "PUBLICATION_EXPIRED", .notFound, false), (503, "LOCK_FAILED", .serverError, false),
      (503, "QUERY_TIMEOUT", .serverError, false), (503, "TEMPORARY_UNAVAILABLE_ERROR", .serverError, false),
      (401, "WRONG_TOKEN", .unauthorized, false), (403, "NEW_CODE", .forbidden, false),
      (500, nil, .serverError, false),
    ] as [(Int, String?, ErrorCode, Bool)])
  func refusals(_ status: Int, _ word: String?, _ code: ErrorCode, _ isLost: Bool) throws {
    let response = try response(status, word)
    let chunk = try upload().accepted(response, chunk: chunk, now: 0)
    #expect(failureCode(chunk) == code)
    #expect(losesSession(chunk) == isLost)
    let commit = try upload().finalized(response, session: session, source: source, chunks: [], now: 0)
    #expect(failureCode(commit) == code)
    if case .failure(let failure) = commit {
      #expect((failure.class == .objectChanged) == (code == .remoteChanged), "it is begun anew, once")
    }
    let failure = try download().refusal(response, doing: "download", now: 0)
    #expect(failure.code == (status == 416 ? .rangeInvalid : code) && failure.httpStatus == status)
    #expect(failure.message.contains(word ?? "500"))
    #expect((failure.class == .objectChanged) == (code == .remoteChanged), "it is begun anew, once")
  }

  @Test func requests() throws {
    var object = RemoteObject()
    let first = try download().get(0..<10, of: object)
    #expect(first.headers["Range"] == nil && first.headers["If-Match"] == nil, "it tells the size")
    (object.size, object.etag) = (25, "\"x\"")
    let next = try download().get(10..<20, of: object)
    #expect(next.headers["Range"] == "bytes=10-19" && next.headers["If-Match"] == "\"x\"")
    #expect(next.headers["If-Range"] == nil && next.headers["Accept-Encoding"] == "identity")
    let head = try response(204, nil, ["ETag": "\"x\"", "Content-Length": "0", "Content-Type": "image/png"])
    guard case .success(let told) = try download().probed(head, now: 0) else {
      Issue.record("a HEAD was refused")
      return
    }
    #expect(told.etag == "\"x\"" && told.size == nil && told.servesRanges == true)
  }

  /// Heads of answers to a GET, with what was known before, and what the body then is.
  @Test func responses() throws {
    var known = RemoteObject()
    (known.size, known.etag) = (25, "\"x\"")
    let blank = RemoteObject()
    func judge(_ status: Int, _ headers: HeaderList, _ object: RemoteObject, _ wanted: Range<Int64>?) throws
      -> RangeResponse
    {
      let head = ResponseHead(status: status, headers: headers)
      let download = try download()
      return download.judge(
        head, wanted: wanted, object: object, seen: download.facts(head, now: 0), now: 0)
    }
    #expect(try judge(200, ["ETag": "\"x\"", "Content-Length": "25"], blank, 0..<10) == .bytes(0..<25))
    #expect(try judge(200, ["ETag": "\"x\""], blank, 0..<10) == .whole(length: nil))
    #expect(try judge(200, ["ETag": "\"x\"", "Content-Length": "25"], blank, nil) == .whole(length: 25))
    #expect(
      try judge(206, ["Content-Range": "bytes 10-19/25", "ETag": "\"x\""], known, 10..<20) == .bytes(10..<20))
    #expect(try judge(206, ["Content-Length": "10", "ETag": "\"x\""], known, 10..<20) == .bytes(10..<20))
    for (status, headers) in [
      (206, ["Content-Length": "9", "ETag": "\"x\""]), (206, ["ETag": "\"x\""]),
      (206, ["Content-Range": "bytes=10-19/25", "ETag": "\"x\""]),
    ] as [(Int, HeaderList)] {
      guard case .refused(let failure) = try judge(status, headers, known, 10..<20) else {
        Issue.record("\(headers) was taken")
        continue
      }
      #expect(failure.code == .rangeInvalid)
    }
    for (status, headers) in [
      (412, [:]), (206, ["Content-Length": "10", "ETag": "\"y\""]),
      (206, ["Content-Range": "bytes 10-19/26", "ETag": "\"x\""]),
    ] as [(Int, HeaderList)] {
      guard case .changed = try judge(status, headers, known, 10..<20) else {
        Issue.record("\(headers) passed for the same version")
        continue
      }
    }
  }
}

private func failureCode<Value>(_ verdict: Result<Value, Failure>) -> ErrorCode? {
  switch verdict {
  case .success: nil
  case .failure(let failure): failure.code
  }
}
