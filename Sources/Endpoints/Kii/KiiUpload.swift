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

  package func opened(_ answer: Answer, source: UploadSource, now: Double) -> Verdict<RemoteSession> {
    guard (200...299).contains(answer.status) else {
      return .failure(refusal(answer, doing: "start the upload", now: now))
    }
    guard let id = answer.object?["uploadID"].string, !id.isEmpty else {
      return .failure(
        Failure(
          .protocolViolation, "\(answer.url) started an upload without an uploadID",
          httpStatus: answer.status))
    }
    return .value(RemoteSession(id: id, chunkSize: source.chunkSize))
  }

  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? { nil }

  package func queried(
    _ answer: Answer, session: RemoteSession, source: UploadSource, now: Double
  ) -> Verdict<SessionHoldings> {
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

  package func accepted(_ answer: Answer, chunk: UploadChunk, now: Double) -> Verdict<ChunkReceipt> {
    switch answer.status {
    case 200...299: .value(ChunkReceipt())
    default: KiiRefusal.upload(answer, doing: "chunk \(chunk.index)", now: now)
    }
  }

  package func finalize(
    _ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]
  ) -> Request? { status(session, "committed") }

  package func finalized(
    _ answer: Answer, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Verdict<UploadedFile> {
    switch answer.status {
    case 200...299: .value(closed(session, receipt: nil))
    default: KiiRefusal.upload(answer, doing: "commit", now: now)
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

  package func inspected(_ answer: Answer, now: Double) -> Verdict<RemoteObject> {
    download.probed(answer, now: now)
  }

  package func refusal(_ answer: Answer, doing what: String, now: Double) -> Failure {
    KiiRefusal.failure(answer, doing: what, now: now)
  }
}
