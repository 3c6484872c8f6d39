package import JobModel

/// Uploads through a back end that hands out URLs for the parts of an S3 multipart upload, as the background uploader
/// S3BgUploader does (`backend.mdx` of its documentation): start, URLs in batches, PUT each part, complete.
///
/// The back end can't be asked what it holds, and an upload can't be canceled: a bucket's lifecycle rule ends it.
package struct PresignedUpload: UploadProtocol {
  private let base: WebURL
  private let fileName: String
  private let settings: PresignedSettings

  /// - Parameters:
  ///   - base: the endpoint's URL; `start`, `urls` and `complete` are paths below it, or absolute.
  ///   - fileName: the name that the back end is told.
  package init(base: WebURL, fileName: String, settings: PresignedSettings) {
    self.base = base
    self.fileName = fileName
    self.settings = settings
  }

  package var abilities: UploadAbilities {
    // An ETag of a part is mostly its MD5, and nothing else is told of it.
    UploadAbilities(
      resumes: true, order: .any, chunkDigests: [.md5], ticketBatch: settings.urlBatch,
      namesContent: true, emptyFile: .oneEmptyChunk)
  }

  package var url: WebURL { route(settings.start) }

  /// The request's body is a map of strings to strings: back ends have always been sent the size as decimal text,
  /// though the uploader's documentation calls it a number.
  package func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request? {
    var members: [JSON.Member] = [
      .init("fileName", .string(fileName)),
      .init("fileHash", .text(source.contentName)),
      .init("fileSize", .string(String(source.size))),
    ]
    for (name, value) in settings.parameters.sorted(by: { $0.key < $1.key }) {
      members.append(.init(name, .string(value)))
    }
    return post(url, .object(members))
  }

  package func opened(_ answer: Answer, source: UploadSource, now: Double) -> Verdict<RemoteSession> {
    let what = "start the upload"
    guard (200...299).contains(answer.status) else {
      return .failure(refusal(answer, doing: what, now: now))
    }
    guard let members = answer.object, let key = members["key"].string, !key.isEmpty,
      let id = members["uploadId"].string, !id.isEmpty
    else {
      return .failure(violation("\(answer.url) started an upload without `key` and `uploadId`", answer))
    }
    guard let size = PresignedAnswer.count(members["partSize"]), size > 0 else {
      return .failure(violation("\(answer.url) started an upload without a `partSize`", answer))
    }
    guard size <= ChunkLayout.largestChunk else {
      return .failure(
        violation(
          "\(answer.url) wants parts of \(size) bytes; haul sends at most \(ChunkLayout.largestChunk)", answer
        ))
    }
    guard !key.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }),
      !key.split(separator: "/").contains(where: { $0 == "." || $0 == ".." })
    else { return .failure(violation("\(answer.url) gave a key that no URL can carry", answer)) }
    return .value(RemoteSession(id: id, chunkSize: size, facts: ["key": key]))
  }

  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? { nil }
  package func queried(_ answer: Answer, session: RemoteSession, source: UploadSource, now: Double)
    -> Verdict<SessionHoldings>
  { .failure(Failure(.internal, "a presigning back end can't be asked what it holds")) }

  package func tickets(for chunks: [Int], session: RemoteSession) -> Request? {
    post(
      route(settings.urls),
      [
        "key": .text(session.facts["key"]), "uploadId": .string(session.id),
        "parts": .array(chunks.map { .int($0 + 1) }),
      ])
  }

  package func ticketed(_ answer: Answer, session: RemoteSession, now: Double) -> Verdict<[Int: WebURL]> {
    guard (200...299).contains(answer.status) else { return refused(answer, "ask for the parts' URLs", now) }
    guard let urls = answer.object?["urls"].members else {
      return .failure(violation("\(answer.url) gave no `urls`", answer))
    }
    var tickets: [Int: WebURL] = [:]
    for member in urls {
      // Other keys than numbers are none of ours.
      guard let part = Int(member.name), part > 0, let url = member.value.string.flatMap({ WebURL($0) })
      else { continue }
      tickets[part - 1] = url
    }
    return .value(tickets)
  }

  /// The bytes and nothing else: the URL's signature may cover further headers, and carries the only credential.
  package func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request {
    Request("PUT", chunk.ticket ?? url, body: .source(chunk.range), isAuthorised: false)
  }

  package func accepted(_ answer: Answer, chunk: UploadChunk, now: Double) -> Verdict<ChunkReceipt> {
    guard (200...299).contains(answer.status) else {
      var failure = PresignedAnswer.refusal(of: answer, doing: "part \(chunk.index + 1)", now: now)
      failure.chunk = chunk.index
      return .failure(failure)
    }
    guard let etag = answer.headers["ETag"].map(PresignedAnswer.bare), !etag.isEmpty else {
      return .failure(
        Failure(
          .protocolViolation, "\(answer.url) took part \(chunk.index + 1) without an ETag",
          httpStatus: answer.status, chunk: chunk.index))
    }
    return .value(ChunkReceipt(token: etag))
  }

  /// Where some parts' ETags are their MD5, the store makes them so, and a part with another one is damaged. Where
  /// none is, the store makes its ETags in another way (encryption with KMS or a customer's key), and they tell nothing.
  package func contradicted(_ chunks: [ChunkRecord]) -> [ChunkRecord] {
    let matching = chunks.count { $0.receipt?.lowercased() == $0.digest }
    guard matching > 0, matching < chunks.count else { return [] }
    return chunks.filter { $0.receipt?.lowercased() != $0.digest }
  }

  package func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request? {
    let parts = chunks.sorted { $0.offset < $1.offset }.map { chunk -> JSON in
      ["PartNumber": .integer(chunk.offset / session.chunkSize + 1), "ETag": .text(chunk.receipt)]
    }
    // The key stands in the path as it is, slashes included.
    let key = PresignedAnswer.path(session.facts["key"] ?? "")
    var target = route(settings.complete)
    target.path += (target.path.hasSuffix("/") ? "" : "/") + PresignedAnswer.path(session.id) + "/" + key
    return post(target, ["parts": .array(parts)])
  }

  package func finalized(
    _ answer: Answer, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Verdict<UploadedFile> {
    guard (200...299).contains(answer.status) else { return refused(answer, "complete the upload", now) }
    var file = UploadedFile(remoteID: session.facts["key"])
    if !chunks.isEmpty, chunks.allSatisfy({ $0.receipt?.lowercased() == $0.digest }) {
      file.checks = [Verification("etag", .server, .match)]
    }
    return .value(file)
  }

  /// A refusal of a request about an upload: the back end may say that there is none.
  private func refused<Value>(_ answer: Answer, _ what: String, _ now: Double) -> Verdict<Value> {
    var failure = refusal(answer, doing: what, now: now)
    // A missing route answers 404 too, mostly with a page; what answers in JSON is the back end itself.
    if answer.status == 410 || answer.status == 404 && answer.object != nil { failure.code = .sessionExpired }
    return .failure(failure)
  }

  package func abort(_ session: RemoteSession) -> Request? { nil }
  package func look() -> Request? { nil }
  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? { nil }
  package func inspect(_ file: UploadedFile) -> Request? { nil }
  package func inspected(_ answer: Answer, now: Double) -> Verdict<RemoteObject> {
    .failure(Failure(.internal, "a presigning back end can't be asked what is there"))
  }

  package func refusal(_ answer: Answer, doing what: String, now: Double) -> Failure {
    PresignedAnswer.refusal(of: answer, doing: what, now: now)
  }

  private func route(_ path: String) -> WebURL {
    if let absolute = WebURL(path) { return absolute }
    var url = base.appending(path)
    // A path may bring its own query, as in `/upload?step=start`.
    if let mark = url.path.firstIndex(of: "?") {
      url.query = String(url.path[url.path.index(after: mark)...])
      url.path = String(url.path[..<mark])
    }
    return url
  }

  private func post(_ url: WebURL, _ body: JSON) -> Request {
    Request(
      "POST", url, headers: ["Content-Type": "application/json", "Accept": "application/json"],
      body: .bytes(Array(body.text.utf8)))
  }

  private func violation(_ message: String, _ answer: Answer) -> Failure {
    Failure(.protocolViolation, message, httpStatus: answer.status)
  }
}
