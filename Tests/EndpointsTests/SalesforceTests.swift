import Endpoints
import JobModel
import Testing

/// Salesforce Files: queries, places, and what an answer may be in place of bytes (wire facts, D).
struct SalesforceProtocolTests {
  private let version = "068Ab0000004C92IAE"
  private let document = "069Ab0000001Zz9"

  private func download(_ id: String, _ via: SalesforceSettings.Via = .versionData) throws
    -> SalesforceDownload
  {
    var settings = SalesforceSettings()
    settings.via = via
    return SalesforceDownload(
      base: try #require(WebURL("https://org")), id: try SalesforceID(id), settings: settings)
  }

  private func query(_ request: Request?) -> String { WebURL.decode(request?.url.query ?? "") }

  @Test func ids() throws {
    #expect(SalesforceID.suffix("0013000000ABCde") == "AAH")
    #expect(try SalesforceID("068Ab0000004C92").kind == .version)
    #expect(try SalesforceID(document).kind == .document)
    let whole = "068Ab0000004C92" + SalesforceID.suffix("068Ab0000004C92")
    #expect(try SalesforceID(whole).text == whole)
    for id in [
      "", "068", "068Ab0000004C9!", "001Ab0000004C92", "068ab0000004C92" + whole.suffix(3),
      "068Ab0000004C92A",
    ] {
      #expect(throws: ValueFault.self, "\(id)") { try SalesforceID(id) }
    }
  }

  @Test func queries() throws {
    let byDocument = try download(document)
    let latest = try #require(byDocument.describe(RemoteObject()))
    #expect(latest.url.path == "/services/data/v62.0/query" && latest.isAuthorised)
    #expect(
      query(latest).hasSuffix(
        "FROM ContentVersion WHERE ContentDocumentId = '\(document)' AND IsLatest = true"))
    #expect(latest.url.query?.contains(" ") == false && latest.url.query?.contains("'") == false)
    var known = RemoteObject()
    known.version = version
    #expect(query(byDocument.describe(known)).hasSuffix("WHERE Id = '\(version)'"), "pinned")
    #expect(query(byDocument.probe()).hasSuffix("IsLatest = true"))
    #expect(
      query(try download("068Ab0000004C92").describe(RemoteObject())).hasSuffix(
        "WHERE Id = '068Ab0000004C92'"))
  }

  private func record(
    _ checksum: String = "\"D41D8CD98F00B204E9800998ECF8427E\"", path: String = #""C:\\x\\Deck.pdf""#
  )
    -> String
  {
    let id = "068Ab0000004C92" + SalesforceID.suffix("068Ab0000004C92")
    return
      #"{"totalSize":1,"records":[{"Id":"\#(id)","ContentDocumentId":"069x","ContentSize":0,"Checksum":\#(checksum),"VersionNumber":"3","Title":"Deck","FileExtension":"pdf","PathOnClient":\#(path)}]}"#
  }

  @Test func metadata() throws {
    let download = try download(document)
    guard
      case .success(let object) = download.described(Wire.response(200, record(), url: download.url), now: 0)
    else {
      throw Wire.Unexpected(what: "not described")
    }
    let text = record().replacing(#""ContentSize":0"#, with: #""ContentSize":"650000""#)
    #expect(try download.described(Wire.response(200, text, url: download.url), now: 0).get().size == 650_000)
    let digest = String(repeating: "aB", count: 32)
    let longer = Wire.response(200, record("\"\(digest)\""), url: download.url)
    #expect(try download.described(longer, now: 0).get().digests == [.sha256: digest.lowercased()])
    #expect(object.size == 0 && object.digests == [.md5: "d41d8cd98f00b204e9800998ecf8427e"])
    #expect(
      object.fileName == "Deck.pdf" && object.facts["document"] == "069x" && object.facts["number"] == "3")
    #expect(
      download.remoteID(of: object) == object.version && object.version?.hasPrefix("068Ab0000004C92") == true)
    guard
      case .success(let bare) = download.described(
        Wire.response(200, record("null", path: "null"), url: download.url), now: 0)
    else { throw Wire.Unexpected(what: "not described") }
    #expect(bare.digests.isEmpty && bare.fileName == "Deck.pdf")
    for (status, body, type, code) in [
      (200, #"{"records":[]}"#, "application/json", ErrorCode.notFound),
      (200, "<html>", "text/html", .unauthorized), (200, "[]", "application/json", .protocolViolation),
      (401, #"[{"message":"m","errorCode":"INVALID_SESSION_ID"}]"#, "application/json", .unauthorized),
      (403, #"[{"message":"m","errorCode":"INVALID_SESSION_ID"}]"#, "application/json", .unauthorized),
      (403, #"[{"message":"m","errorCode":"REQUEST_LIMIT_EXCEEDED"}]"#, "application/json", .rateLimited),
      (403, #"[{"message":"m","errorCode":"INSUFFICIENT_ACCESS"}]"#, "application/json", .forbidden),
      (404, #"{"message":"m","errorCode":"NOT_FOUND"}"#, "application/json", .notFound),
      (400, #"[{"message":"m","errorCode":"MALFORMED_QUERY"}]"#, "application/json", .protocolViolation),
      (429, "", "text/plain", .rateLimited), (503, "", "text/plain", .serverError),
    ] {
      let verdict = download.described(
        Wire.response(status, body, ["Content-Type": type], url: download.url), now: 0)
      #expect(Wire.code(verdict) == code, "\(status) \(body)")
    }
  }

  /// Limits of a day want a rest that no backoff gives.
  @Test func limitsRest() throws {
    let download = try download(document)
    for (status, body) in [(403, #"[{"message":"m","errorCode":"REQUEST_LIMIT_EXCEEDED"}]"#), (429, "")] {
      let failure = download.refusal(Wire.response(status, body, url: download.url), doing: "x", now: 0)
      #expect(failure.code == .rateLimited && failure.retryAfter == 3600)
    }
  }

  @Test func places() throws {
    var object = RemoteObject()
    object.version = version
    object.facts = ["document": "069x", "number": "3"]
    for (via, url) in [
      (.versionData, "https://org/services/data/v62.0/sobjects/ContentVersion/\(version)/VersionData"),
      (.shepherd, "https://org/sfc/servlet.shepherd/version/download/\(version)"),
      (.connect, "https://org/services/data/v62.0/connect/files/069x/content?versionNumber=3"),
    ] as [(SalesforceSettings.Via, String)] {
      let request = try download(document, via).get(0..<5, of: object)
      #expect(request.url.text == url && request.headers["Range"] == "bytes=0-4" && request.isAuthorised)
      #expect(request.headers["If-Range"] == nil)
    }
  }

  private enum Told: Equatable { case bytes, whole(Int64?), page, other }

  /// A status of 200 or 206 says nothing: type and size do.
  @Test func bytesOrPage() throws {
    let download = try download(version)
    for (status, type, size, suffix, hasDigest, told) in [
      (200, "application/pdf", 10, "pdf", true, .whole(10)),
      (200, "application/pdf", nil, "pdf", true, .whole(10)),
      (200, "application/pdf", 9, "pdf", true, .other), (200, "text/html", 9, "pdf", true, .page),
      (200, "text/html;charset=UTF-8", nil, "pdf", true, .page),
      (200, "text/javascript", 9, "html", true, .page),
      (200, "text/html", 10, "html", false, .whole(10)), (200, "text/html", nil, "html", true, .whole(10)),
      (200, "text/html", 10, "pdf", true, .whole(10)), (200, "text/html", 10, "pdf", false, .page),
      (206, "application/octet-stream", 10, "pdf", true, .bytes), (206, "text/html", 9, "pdf", true, .page),
      (206, "application/pdf", 11, "pdf", true, .other),
    ] as [(Int, String, Int64?, String, Bool, Told)] {
      var object = RemoteObject()
      object.version = version
      object.size = 10
      object.facts["extension"] = suffix
      if hasDigest { object.digests[.md5] = "d" }
      var head = ResponseHead(status: status, headers: ["Content-Type": type])
      if status == 206 {
        head.headers.append("Content-Range", "bytes 0-4/\(size ?? 0)")
      } else if let size {
        head.headers.append("Content-Length", String(size))
      }
      let seen = download.facts(head, now: 0)
      let found: Told =
        switch download.judge(head, wanted: 0..<5, object: object, seen: seen, now: 0) {
        case .bytes: .bytes
        case .whole(let length): .whole(length)
        case .refused(let failure): failure.code == .unauthorized ? .page : .other
        case .changed, .nothing, .untied: .other
        }
      #expect(found == told, "\(status) \(type) \(size ?? -1) \(suffix)")
    }
  }
}
