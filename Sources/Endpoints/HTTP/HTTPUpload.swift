package import JobModel

/// Uploads with one PUT of the whole file (RFC 9110, 9.3.4): not resumable.
package struct HTTPUpload: UploadProtocol {
  package let url: WebURL
  package let abilities = UploadAbilities(
    resumes: false, order: .sequential, minimumChunk: .max, emptyFile: .oneEmptyChunk)

  package init(url: WebURL) { self.url = url }

  package func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request? { nil }
  package func opened(_ response: Response, source: UploadSource, now: Double) -> Result<
    RemoteSession, Failure
  > {
    .failure(Failure(.internal, "a PUT has no session to open"))
  }
  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? { nil }
  package func queried(_ response: Response, session: RemoteSession, source: UploadSource, now: Double)
    -> Result<SessionHoldings, Failure>
  { .failure(Failure(.internal, "a PUT has no session to ask")) }

  package func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request {
    var headers: HeaderList = ["Content-Type": source.contentType]
    // RFC 9110, 13.1.2: what came since it was looked at stays. A server that knows no conditions takes the file all the same.
    if source.mustBeNew { headers.append("If-None-Match", "*") }
    return Request("PUT", url, headers: headers, body: .source(chunk.range))
  }

  package var mayLeaveTornFile: Bool { true }

  package func accepted(_ response: Response, chunk: UploadChunk, now: Double) -> Result<
    ChunkReceipt, Failure
  > {
    switch response.status {
    case 200...299: .success(ChunkReceipt(token: response.headers["ETag"]))
    default: .failure(HTTPFailure.of(response, doing: "upload", now: now))
    }
  }

  package func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request? {
    nil
  }
  package func finalized(
    _ response: Response, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Result<UploadedFile, Failure> { .failure(Failure(.internal, "a PUT has no session to close")) }
  package func abort(_ session: RemoteSession) -> Request? { nil }

  /// `Repr-Digest`, for instance.
  package var mayTellDigests: Bool { true }

  package func look() -> Request? { inspect(UploadedFile()) }

  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? { HTTPDownload(url: url) }

  package func inspect(_ file: UploadedFile) -> Request? {
    Request("HEAD", url, headers: ["Accept-Encoding": "identity"])
  }

  package func inspected(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    switch response.status {
    case 200...299: .success(ObjectFacts.read(response.head, now: now))
    default: .failure(HTTPFailure.of(response, doing: "look at the upload", now: now))
    }
  }
}
