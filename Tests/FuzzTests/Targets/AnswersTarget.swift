import Endpoints
import JobModel

/// `STATUS`, header lines, an empty line and a body: an answer of the chunk-session API, of S3 or of WebDAV, at every step.
enum AnswersTarget {
  private static let now = 1_700_000_000.0

  static func run(_ bytes: [UInt8]) throws {
    let message = Message(bytes)
    var headers = HeaderList()
    for field in message.fields { headers.append(field.name, field.value) }
    let base = try require(WebURL("http://h/api"), "no URL")
    let response = Response(
      head: ResponseHead(status: Int(message.number(0) ?? 200), headers: headers), body: message.body,
      url: base
    )
    for form in [SessionChunkForm.index, .range] {
      try session(response, SessionUpload(base: base, fileName: "in/a b.bin", form: form))
    }
    try seen(SessionDownload(base: base, path: "rf-1").probed(response, now: now))
    try s3(response, base)
    try webdav(response, base)
    let put = HTTPUpload(url: base)
    let source = UploadSource(size: 10, contentType: "a/b", chunkSize: 10)
    let chunk = UploadChunk(index: 0, range: 0..<10)
    _ = put.accepted(response, chunk: chunk, now: now)
    try seen(put.inspected(response, now: now))
    _ = put.opened(response, source: source, now: now)
    if let problem = ProblemDetails(response) {
      try require(problem.summary.count <= 302, "a summary of \(problem.summary.count)")
    }
  }

  /// Its XML is a stranger's.
  private static func s3(_ response: Response, _ base: WebURL) throws {
    var settings = S3Settings()
    settings.bucket = "bkt"
    let address = S3Address(base: base, settings: settings)
    let upload = S3Upload(address: address, settings: settings, key: "k")
    let source = UploadSource(size: 100, contentType: "a/b", chunkSize: 10)
    let session = RemoteSession(id: "u", chunkSize: 10)
    let chunk = UploadChunk(index: 3, range: 30..<40)
    if case .failure(let failure) = upload.opened(response, source: source, now: now) {
      try HeadersTarget.check(failure)
    }
    if case .success(let held) = upload.queried(response, session: session, source: source, now: now) {
      try require(held.chunks.keys.allSatisfy { $0 >= 0 }, "a chunk before the first")
    }
    if case .failure(let failure) = upload.finalized(
      response, session: session, source: source, chunks: [], now: now)
    {
      try HeadersTarget.check(failure)
    }
    _ = upload.accepted(response, chunk: chunk, now: now)
    try seen(upload.inspected(response, now: now))
    let listing = S3Listing(address: address, settings: settings)
    switch listing.listed(response, prefix: "a", page: nil, now: now) {
    case .success(let page): try require(page.entries.allSatisfy { ($0.size ?? 0) >= 0 }, "a size below 0")
    case .failure(let failure): try HeadersTarget.check(failure)
    }
  }

  private static func webdav(_ response: Response, _ base: WebURL) throws {
    let upload = WebDAVUpload(path: "in/a b.bin", root: base)
    try seen(upload.inspected(response, now: now))
    let listing = WebDAVListing(root: base)
    switch listing.listed(response, prefix: "", page: nil, now: now) {
    case .success(let page):
      try require(page.entries.allSatisfy { !$0.path.isEmpty }, "an entry without a name")
      // The mark can be read again, whatever names it is made of.
      if let mark = page.next {
        try require(listing.list("", page: mark).url.path.utf8.last == 0x2F, "a mark")
      }
    case .failure(let failure): try HeadersTarget.check(failure)
    }
  }

  private static func session(_ response: Response, _ upload: SessionUpload) throws {
    let source = UploadSource(size: 100, contentType: "a/b", chunkSize: 10)
    let chunk = UploadChunk(index: 3, range: 30..<40, digests: [.sha256: String(repeating: "0", count: 64)])
    switch upload.opened(response, source: source, now: now) {
    case .success(let session): try opened(session, upload, chunk, source)
    case .failure(let failure): try HeadersTarget.check(failure)
    }
    let large = UploadSource(size: 1 << 50, contentType: "a/b", chunkSize: 1 << 30)
    if case .success(let session) = upload.opened(response, source: large, now: now) {
      let count = ChunkLayout(size: large.size, chunkSize: session.chunkSize).count
      try require(count <= 10_000_000, "\(count) chunks")
    }
    let session = RemoteSession(id: "us-1", chunkSize: 10)
    switch upload.queried(response, session: session, source: source, now: now) {
    case .success(let holdings): try finished(holdings.finished, upload)
    case .failure(let failure): try HeadersTarget.check(failure)
    }
    if case .failure(let failure) = upload.accepted(response, chunk: chunk, now: now) {
      try require(failure.chunk == 3, "a failure of no chunk")
    }
    switch upload.finalized(response, session: session, source: source, chunks: [], now: now) {
    case .success(let file): try finished(file, upload)
    case .failure(let failure): try HeadersTarget.check(failure)
    }
    try seen(upload.inspected(response, now: now))
  }

  private static func opened(
    _ session: RemoteSession, _ upload: SessionUpload, _ chunk: UploadChunk, _ source: UploadSource
  ) throws {
    try require((1...ChunkLayout.largestChunk).contains(session.chunkSize), "chunks of \(session.chunkSize)")
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    try require(layout.range(layout.count - 1).upperBound == source.size, "\(layout)")
    let put = upload.put(chunk, session: session, source: source)
    for field in put.headers.fields {
      try require(HeaderSetting.isToken(field.name), "a header named \(field.name)")
      try require(HeaderSetting.isSafe(value: field.value), "a header's value \(field.value)")
    }
    try require(
      put.headers["Content-Range"] == "bytes 30-39/100", "the server chose the range of a chunk")
    try below(put, upload)
    try below(upload.query(session, after: nil), upload)
    try below(upload.abort(session), upload)
    try below(upload.finalize(session, source: source, chunks: []), upload)
  }

  /// A server's id names something below the API, and nothing else of that host.
  private static func below(_ request: Request?, _ upload: SessionUpload) throws {
    let url = try require(request, "no request").url
    let resolved = url.resolving(url.text)
    try require(url.path.hasPrefix(upload.url.path + "/"), "\(url)")
    let parts = url.path.split(separator: "/").map { WebURL.decode($0) }
    try require(!parts.contains(".") && !parts.contains(".."), "\(url)")
    try require(resolved == url, "\(url) reads as \(resolved.map(\.description) ?? "nothing")")
  }

  private static func finished(_ file: UploadedFile?, _ upload: SessionUpload) throws {
    guard let file else { return }
    let request = try require(upload.inspect(file), "no request")
    let parts = request.url.path.split(separator: "/").map { WebURL.decode($0) }
    try require(!parts.contains(".") && !parts.contains(".."), "\(request.url)")
    for (algorithm, digest) in file.digests {
      try require(digest.utf8.count == algorithm.hexLength, "\(algorithm): \(digest)")
    }
  }

  private static func seen(_ verdict: Result<RemoteObject, Failure>) throws {
    switch verdict {
    case .success(let object): try HeadersTarget.check(object)
    case .failure(let failure): try HeadersTarget.check(failure)
    }
  }
}
