import Endpoints
import JobModel
import Testing

/// The background uploader's contract (wire facts, B), request by request.
struct PresignedProtocolTests {
  private func upload(_ change: (inout PresignedSettings) -> Void = { _ in }) throws -> PresignedUpload {
    var settings = PresignedSettings()
    change(&settings)
    return PresignedUpload(
      base: try #require(WebURL("https://b/api")), fileName: "ü/a b.mov", settings: settings)
  }
  private let source = UploadSource(
    size: 25, contentType: "video/mp4", chunkSize: 10, fingerprint: "f0", contentName: "c0")
  private let session = RemoteSession(id: "u/1", chunkSize: 10, facts: ["key": "in/ü a?.mov"])

  private func text(_ request: Request?) -> String {
    guard case .bytes(let bytes)? = request?.body else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func start() throws {
    let request = try #require(
      try upload { $0.parameters = ["b": "2", "a": "1"] }.open(source, renewing: nil))
    #expect(
      request.method == "POST" && request.url.text == "https://b/api/startUpload" && request.isAuthorised)
    #expect(
      text(request) == #"{"fileName":"ü/a b.mov","fileHash":"c0","fileSize":"25","a":"1","b":"2"}"#)
    for (setting, url) in [
      ("/v2/start", "https://b/api/v2/start"), ("/s?x=1", "https://b/api/s?x=1"),
      ("https://c/s", "https://c/s"),
    ] { #expect(try upload { $0.start = setting }.open(source, renewing: nil)?.url.text == url) }
  }

  @Test func started() throws {
    let upload = try upload()
    for (body, size) in [
      (#"{"key":"k","uploadId":"u","partSize":5242880}"#, 5_242_880),
      (#"{"key":"k","uploadId":"u","partSize":"7"}"#, 7),
      (#"{"key":"k","uploadId":"u","partSize":0}"#, nil), (#"{"key":"k","uploadId":"u","partSize":-1}"#, nil),
      (#"{"key":"k","uploadId":"u","partSize":1.5}"#, nil),
      (#"{"key":"k","uploadId":"u","partSize":1e19}"#, nil),
      (#"{"key":"k","uploadId":"u"}"#, nil), (#"{"key":"","uploadId":"u","partSize":1}"#, nil),
      (#"{"key":"k","partSize":1}"#, nil), (#"{"key":"a/../b","uploadId":"u","partSize":1}"#, nil),
      (#"{"key":"a\nb","uploadId":"u","partSize":1}"#, nil), ("[]", nil), ("<html>", nil),
    ] as [(String, Int64?)] {
      let verdict = upload.opened(Wire.response(200, body, url: upload.url), source: source, now: 0)
      if case .success(let session) = verdict {
        #expect(session.chunkSize == size && session.id == "u" && session.facts["key"] == "k", "\(body)")
      } else {
        #expect(size == nil && Wire.code(verdict) == .protocolViolation, "\(body)")
      }
    }
    let numbers = Wire.response(200, #"{"key":3,"uploadId":77,"partSize":7}"#, url: upload.url)
    let session = try upload.opened(numbers, source: source, now: 0).get()
    #expect(session.id == "77" && session.facts["key"] == "3")
  }

  @Test func urls() throws {
    let upload = try upload()
    let request = try #require(upload.partURLs(for: [0, 3], session: session))
    #expect(request.url.text == "https://b/api/getUploadUrls")
    #expect(text(request) == #"{"key":"in/ü a?.mov","uploadId":"u/1","parts":[1,4]}"#)
    let body =
      #"{"urls":{"1":"https://s/a?X-Amz-Signature=1","4":"https://s/d","x":"https://s/x","5":7,"0":"https://s/0","6":"ftp://s","7":"","8":"https://s/g h?n=i j","9":"/s/k?l"}}"#
    guard
      case .success(let found) = upload.handedOut(
        Wire.response(200, body, url: upload.url), session: session, now: 0)
    else { throw Wire.Unexpected(what: "no URLs were read") }
    #expect(
      found.mapValues(\.text) == [
        0: "https://s/a?X-Amz-Signature=1", 3: "https://s/d", 7: "https://s/g%20h?n=i%20j",
        8: "\(upload.url.origin)/s/k?l",
      ])
    for (status, body, code) in [
      (404, "{}", ErrorCode.sessionExpired), (404, "<html>", .notFound), (410, "", .sessionExpired),
      (200, "{}", .protocolViolation), (503, "", .serverError), (401, "", .unauthorized),
    ] {
      let verdict = upload.handedOut(Wire.response(status, body, url: upload.url), session: session, now: 0)
      #expect(Wire.code(verdict) == code, "\(status) \(body)")
    }
  }

  @Test func parts() throws {
    let upload = try upload()
    let partURL = try #require(WebURL("https://s/k?X-Amz-Signature=abc"))
    let chunk = UploadChunk(index: 2, range: 20..<25, digests: [.md5: "d"], partURL: partURL)
    let request = upload.put(chunk, session: session, source: source)
    #expect(request.method == "PUT" && request.url == partURL && request.body == .source(20..<25))
    #expect(!request.isAuthorised && request.headers.fields.isEmpty, "a signature may cover any header")
    for (tag, bare) in [("\"ab\"", "ab"), ("ab", "ab"), ("W/\"ab\"", "ab"), ("\"", "\"")] {
      guard
        case .success(let receipt) = upload.accepted(
          Wire.response(200, "", ["ETag": tag], url: partURL), chunk: chunk, now: 0)
      else { throw Wire.Unexpected(what: "\(tag) was not taken") }
      #expect(receipt.token == bare && receipt.digests.isEmpty)
    }
    func error(_ code: String) -> String {
      "<Error><Code>\(code)</Code><Message>X-Amz-Signature=abc</Message></Error>"
    }
    for (status, body, code) in [
      (200, "", ErrorCode.protocolViolation), (403, error("AccessDenied"), .forbidden),
      (400, error("ExpiredToken"), .forbidden), (404, error("NoSuchUpload"), .sessionExpired),
      (404, error("NoSuchBucket"), .notFound), (503, error("SlowDown"), .rateLimited),
      (400, error("RequestTimeout"), .serverError), (500, "", .serverError),
      (400, error("EntityTooLarge"), .protocolViolation),
    ] {
      let verdict = upload.accepted(Wire.response(status, body, url: partURL), chunk: chunk, now: 0)
      #expect(Wire.code(verdict) == code, "\(status) \(body)")
      let failure =
        switch verdict {
        case .failure(let failure): failure
        case .success: Failure(.internal, "")
        }
      #expect(failure.chunk == 2 && !failure.message.contains("abc"), "\(failure.message)")
    }
  }

  private func records(_ tags: [String]) -> [ChunkRecord] {
    tags.enumerated().map {
      ChunkRecord(offset: Int64($0 * 10), length: 10, digest: "d\($0)", receipt: $1)
    }
  }

  /// Not every ETag is an MD5: only where some are does another one speak against its part.
  @Test func tagsThatAreDigests() throws {
    let upload = try upload()
    #expect(upload.rejectedChunks(records(["d0", "D1", "d2"])).isEmpty)
    #expect(upload.rejectedChunks(records(["x", "y", "z"])).isEmpty)
    #expect(upload.rejectedChunks(records(["d0", "x", "d2"])).map(\.offset) == [10])
    #expect(upload.rejectedChunks([]).isEmpty)
    for (tags, checks) in [(["d0", "d1"], 1), (["x", "y"], 0), (["d0", "y"], 0), ([], 0)] {
      guard
        case .success(let file) = upload.finalized(
          Wire.response(204, "", url: upload.url), session: session, source: source, chunks: records(tags),
          now: 0)
      else { throw Wire.Unexpected(what: "not finalized") }
      #expect(file.remoteID == "in/ü a?.mov" && file.checks.count == checks && file.digests.isEmpty)
    }
  }

  @Test func complete() throws {
    let upload = try upload()
    let request = try #require(
      upload.finalize(session, source: source, chunks: records(["b", "a"]).reversed()))
    #expect(request.url.text == "https://b/api/complete/u/1/in/%C3%BC%20a%3F.mov")
    #expect(text(request) == #"{"parts":[{"PartNumber":1,"ETag":"b"},{"PartNumber":2,"ETag":"a"}]}"#)
    for (status, body, code) in [
      (400, "", ErrorCode.protocolViolation), (301, "", .protocolViolation), (500, "", .serverError),
      (404, "{}", .sessionExpired), (404, "gone", .notFound),
      (400, "<Error><Code>InvalidPart</Code></Error>", .integrityMismatch),
      (400, #"{"error":"InvalidPart","message":"m"}"#, .integrityMismatch),
      (500, #"{"error":"InvalidPart"}"#, .serverError),
    ] {
      let verdict = upload.finalized(
        Wire.response(status, body, url: upload.url), session: session, source: source, chunks: [], now: 0)
      #expect(Wire.code(verdict) == code, "\(status)")
    }
    #expect(upload.abort(session) == nil && upload.look() == nil && upload.query(session, after: nil) == nil)
    #expect(upload.abilities.resumes && upload.abilities.isParallel && !upload.abilities.provesWholeFile)
    #expect(upload.abilities.emptyFile == .oneEmptyChunk && upload.abilities.partURLBatch == 4)
  }

  @Test func downloads() throws {
    let download = PresignedDownload(base: try #require(WebURL("https://b/api")), path: "files/a b")
    #expect(download.url.text == "https://b/api/files/a%20b")
    let probe = download.probe()
    #expect(probe.method == "GET" && probe.headers["Range"] == "bytes=0-0", "a URL is signed for GET alone")
    guard
      case .success(let object) = download.probed(
        Wire.response(206, "", ["Content-Range": "bytes 0-0/77", "ETag": "\"e\""], url: download.url), now: 0)
    else { throw Wire.Unexpected(what: "not probed") }
    #expect(object.size == 77 && object.etag == "\"e\"" && object.servesRanges == true)
  }
}
