package import JobModel

/// Uploads of object bodies to Kii Cloud in three phases: start, data in ascending order, commit (wire facts A).
///
/// The server can't be asked what arrived: our own record counts, checked against the source before it is used.
package struct KiiUpload: UploadProtocol {
  /// The body, which keeps its old bytes until the commit.
  package let url: WebURL
  package let objectID: String
  package let abilities = UploadAbilities(
    resumes: true, order: .sequential, chunkDigests: [.sha256], emptyFile: .refused)

  package init(base: WebURL, settings: KiiSettings, objectID: String) {
    url = KiiBody.url(base: base, settings: settings, objectID: objectID)
    self.objectID = objectID
  }

  package func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request? {
    var members: [JSON.Member] = []
    if let fingerprint = source.fingerprint { members.append(.init("clientHash", .string(fingerprint))) }
    return Request(
      "POST", url.appending("uploads"),
      headers: [
        "Content-Type": "application/vnd.kii.StartObjectBodyUploadRequest+json",
        "Accept": "application/vnd.kii.StartObjectBodyUploadResponse+json",
      ], body: .bytes(Array(JSON.object(members).text.utf8)))
  }

  package func opened(_ response: Response, source: UploadSource, now: Double) -> Result<
    RemoteSession, Failure
  > {
    guard (200...299).contains(response.status) else {
      return .failure(refusal(response, doing: "start the upload", now: now))
    }
    guard let id = response.object?["uploadID"].id else {
      return .failure(
        Failure(
          .protocolViolation, "\(response.url) started an upload without an uploadID",
          httpStatus: response.status))
    }
    return .success(RemoteSession(id: id, chunkSize: source.chunkSize))
  }

  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? { nil }

  package func queried(
    _ response: Response, session: RemoteSession, source: UploadSource, now: Double
  ) -> Result<SessionHoldings, Failure> {
    .failure(Failure(.internal, "Kii can't be asked what an upload holds"))
  }

  package func provesUpload(in session: RemoteSession) -> Bool { false }

  package func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request {
    // Kii's own form, with `=` where RFC 9110 has a blank.
    let range = "bytes=\(chunk.range.lowerBound)-\(chunk.range.upperBound - 1)/\(source.size)"
    return Request(
      "PUT", place(session).appending("data"),
      headers: ["Content-Type": source.contentType, "Content-Range": range], body: .source(chunk.range))
  }

  package func accepted(_ response: Response, chunk: UploadChunk, now: Double) -> Result<
    ChunkReceipt, Failure
  > {
    switch response.status {
    case 200...299: .success(ChunkReceipt())
    default: KiiError.upload(response, doing: "chunk \(chunk.index)", now: now)
    }
  }

  package func finalize(
    _ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]
  ) -> Request? { status(session, "committed") }

  package func finalized(
    _ response: Response, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Result<UploadedFile, Failure> {
    switch response.status {
    case 200...299: .success(closed(session, receipt: nil))
    default: KiiError.upload(response, doing: "commit", now: now)
    }
  }

  package func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile {
    UploadedFile(remoteID: objectID)
  }

  package func abort(_ session: RemoteSession) -> Request? { status(session, "cancelled") }

  /// Empty, and said to be: a POST without a length is refused by some.
  private func status(_ session: RemoteSession, _ word: String) -> Request {
    Request("POST", place(session).appending("status/\(word)"), body: .bytes([]))
  }

  private func place(_ session: RemoteSession?) -> WebURL {
    url.appending("uploads/" + WebURL.encode(session?.id ?? "", keepingSlash: false))
  }

  private var download: KiiDownload { KiiDownload(url: url, objectID: objectID) }

  package func look() -> Request? { download.probe() }

  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? { download }

  package func inspect(_ file: UploadedFile) -> Request? { download.probe() }

  package func inspected(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    download.probed(response, now: now)
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    KiiError.failure(response, doing: what, now: now)
  }
}
