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
      resumes: true, order: .any, chunkDigests: [.md5], partURLBatch: settings.urlBatch,
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

  package func opened(_ response: Response, source: UploadSource, now: Double) -> Result<
    RemoteSession, Failure
  > {
    let what = "start the upload"
    guard (200...299).contains(response.status) else {
      return .failure(refusal(response, doing: what, now: now))
    }
    guard let members = response.object, let key = members["key"].id, let id = members["uploadId"].id else {
      return .failure(violation("\(response.url) started an upload without `key` and `uploadId`", response))
    }
    guard let size = ByteCount.read(json: members["partSize"]), size > 0 else {
      return .failure(violation("\(response.url) started an upload without a `partSize`", response))
    }
    guard size <= ChunkLayout.largestChunk else {
      return .failure(
        violation(
          "\(response.url) wants parts of \(size) bytes; haul sends at most \(ChunkLayout.largestChunk)",
          response
        ))
    }
    guard !key.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }),
      !key.utf8.split(separator: 0x2F).map(Substring.init).contains(where: { $0 == "." || $0 == ".." })
    else { return .failure(violation("\(response.url) gave a key that no URL can carry", response)) }
    return .success(RemoteSession(id: id, chunkSize: size, facts: ["key": key]))
  }

  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? { nil }
  package func queried(_ response: Response, session: RemoteSession, source: UploadSource, now: Double)
    -> Result<SessionHoldings, Failure>
  { .failure(Failure(.internal, "a presigning back end can't be asked what it holds")) }

  package func partURLs(for chunks: [Int], session: RemoteSession) -> Request? {
    post(
      route(settings.urls),
      [
        "key": .text(session.facts["key"]), "uploadId": .string(session.id),
        "parts": .array(chunks.map { .int($0 + 1) }),
      ])
  }

  package func handedOut(_ response: Response, session: RemoteSession, now: Double) -> Result<
    [Int: WebURL], Failure
  > {
    guard (200...299).contains(response.status) else {
      return refused(response, "ask for the parts' URLs", now)
    }
    guard let urls = response.object?["urls"].members else {
      return .failure(violation("\(response.url) gave no `urls`", response))
    }
    var partURLs: [Int: WebURL] = [:]
    for member in urls {
      // Other keys than numbers are none of ours.
      guard let part = Int(member.name), part > 0, let text = member.value.string, !text.isEmpty,
        let url = response.url.resolving(text)
      else { continue }
      // As it is written by hand, for instance with a blank in a file's name.
      partURLs[part - 1] = url.encodingRaw
    }
    return .success(partURLs)
  }

  /// The bytes and nothing else: the URL's signature may cover further headers, and carries the only credential.
  package func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request {
    Request("PUT", chunk.partURL ?? url, body: .source(chunk.range), isAuthorised: false)
  }

  package func accepted(_ response: Response, chunk: UploadChunk, now: Double) -> Result<
    ChunkReceipt, Failure
  > {
    guard (200...299).contains(response.status) else {
      var failure = PresignedResponse.refusal(of: response, doing: "part \(chunk.index + 1)", now: now)
      failure.chunk = chunk.index
      return .failure(failure)
    }
    guard let etag = response.headers["ETag"].map(ETag.bare), !etag.isEmpty else {
      return .failure(
        Failure(
          .protocolViolation, "\(response.url) took part \(chunk.index + 1) without an ETag",
          httpStatus: response.status, chunk: chunk.index))
    }
    return .success(ChunkReceipt(token: etag))
  }

  /// Where some parts' ETags are their MD5, the store makes them so, and a part with another one is damaged. Where
  /// none is, the store makes its ETags in another way (encryption with KMS or a customer's key), and they tell nothing.
  package func rejectedChunks(_ chunks: [ChunkRecord]) -> [ChunkRecord] {
    let matching = chunks.count { $0.receipt?.lowercased() == $0.digest }
    guard matching > 0, matching < chunks.count else { return [] }
    return chunks.filter { $0.receipt?.lowercased() != $0.digest }
  }

  package func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request? {
    let parts = chunks.sorted { $0.offset < $1.offset }.map { chunk -> JSON in
      ["PartNumber": .integer(chunk.offset / session.chunkSize + 1), "ETag": .text(chunk.receipt)]
    }
    // The key stands in the path as it is, slashes included.
    let key = PresignedResponse.path(session.facts["key"] ?? "")
    var target = route(settings.complete)
    target.path += (target.path.hasSuffix("/") ? "" : "/") + PresignedResponse.path(session.id) + "/" + key
    return post(target, ["parts": .array(parts)])
  }

  package func finalized(
    _ response: Response, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Result<UploadedFile, Failure> {
    guard (200...299).contains(response.status) else { return refused(response, "complete the upload", now) }
    var file = UploadedFile(remoteID: session.facts["key"])
    if !chunks.isEmpty, chunks.allSatisfy({ $0.receipt?.lowercased() == $0.digest }) {
      file.checks = [Verification("etag", .server, .match)]
    }
    return .success(file)
  }

  /// A refusal of a request about an upload: the back end may say that there is none.
  private func refused<Value>(_ response: Response, _ what: String, _ now: Double) -> Result<Value, Failure> {
    var failure = refusal(response, doing: what, now: now)
    // A missing route answers 404 too, mostly with a page; what answers in JSON is the back end itself.
    if response.status == 410 || response.status == 404 && response.object != nil {
      failure.code = .sessionExpired
    }
    // Nobody tells which: all are sent once more.
    if PresignedResponse.lacksPart(response) { failure.code = .integrityMismatch }
    return .failure(failure)
  }

  package func abort(_ session: RemoteSession) -> Request? { nil }
  package func look() -> Request? { nil }
  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? { nil }
  package func inspect(_ file: UploadedFile) -> Request? { nil }
  package func inspected(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    .failure(Failure(.internal, "a presigning back end can't be asked what is there"))
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    PresignedResponse.refusal(of: response, doing: what, now: now)
  }

  private func route(_ path: String) -> WebURL {
    if let absolute = WebURL(path) { return absolute }
    var url = base.appending(path)
    // A path may bring its own query, as in `/upload?step=start`.
    if let mark = url.path.utf8.firstIndex(of: 0x3F) {
      url.query = String(url.path[url.path.utf8.index(after: mark)...])
      url.path = String(url.path[..<mark])
    }
    return url
  }

  private func post(_ url: WebURL, _ body: JSON) -> Request {
    Request(
      "POST", url, headers: ["Content-Type": "application/json", "Accept": "application/json"],
      body: .bytes(Array(body.text.utf8)))
  }

  private func violation(_ message: String, _ response: Response) -> Failure {
    Failure(.protocolViolation, message, httpStatus: response.status)
  }
}
