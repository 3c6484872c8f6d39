package import JobModel

/// Uploads to a WebDAV server: one PUT to a temporary name beside the destination, which MOVE renames (RFC 4918, 9.7 and 9.9).
/// The temporary name is the session's id. Folders that are missing are made. A PUT that broke off begins anew.
package struct WebDAVUpload: UploadProtocol {
  static let ending = "give the upload its name"

  package let url: WebURL
  private let path: String
  /// The endpoint's URL: folders are made below it.
  private let root: WebURL
  package let abilities = UploadAbilities(
    resumes: false, order: .sequential, minimumChunk: .max, emptyFile: .oneEmptyChunk)

  package init(path: String, root: WebURL) {
    url = root.appending(WebURL.encode(path))
    (self.path, self.root) = (path, root)
  }

  package var keysSessions: Bool { true }
  /// ownCloud's checksum, for instance.
  package var mayTellDigests: Bool { true }
  package func provesUpload(in session: RemoteSession) -> Bool { false }

  // MARK: The temporary name

  package func ownSession(for source: UploadSource) -> RemoteSession? {
    RemoteSession(id: TemporaryName.make(source.key), chunkSize: max(1, source.size))
  }

  private func temporary(_ session: RemoteSession) -> WebURL {
    root.appending(WebURL.encode(names.folder + session.id))
  }

  /// The path's folder, with its slash, and its last name.
  private var names: (folder: Substring, own: Substring) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path[...]) }
    return (Substring(path.utf8[...slash]), path[path.utf8.index(after: slash)...])
  }

  /// Names below the endpoint's URL.
  private var depth: Int { path.utf8.split(separator: UInt8(ascii: "/")).count }

  package func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request? { nil }
  package func opened(
    _ response: Response, source: UploadSource, now: Double
  ) -> Result<RemoteSession, Failure> {
    .failure(Failure(.internal, "a temporary name is not asked for"))
  }

  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? {
    MultiStatus.ask(temporary(session), depth: 0)
  }

  package func queried(
    _ response: Response, session: RemoteSession, source: UploadSource, now: Double
  ) -> Result<SessionHoldings, Failure> {
    let place = temporary(session)
    if Self.isGone(response, at: place, depth: depth) { return .failure(Self.gone(place)) }
    return object(response, at: place, doing: "look at the temporary name", now).map { object in
      guard object.size == source.size else { return SessionHoldings() }
      let held = HeldChunk(size: object.size, receipt: object.etag, digests: object.digests)
      return SessionHoldings(chunks: [0: held])
    }
  }

  package func abort(_ session: RemoteSession) -> Request? { Request("DELETE", temporary(session)) }

  static func isGone(_ response: Response, at url: WebURL, depth: Int) -> Bool {
    let status =
      response.status == 207
      ? MultiStatus(response)?.resource(at: url, depth: depth)?.status : response.status
    return status == 404 || status == 410
  }

  static func gone(_ temporary: WebURL) -> Failure {
    Failure(.sessionExpired, "\(temporary), where the upload arrived, is gone", httpStatus: 404)
  }

  // MARK: Sending

  package func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request {
    Request(
      "PUT", session.map(temporary) ?? url, headers: ["Content-Type": source.contentType],
      body: .source(chunk.range))
  }

  package func accepted(
    _ response: Response, chunk: UploadChunk, now: Double
  ) -> Result<ChunkReceipt, Failure> {
    guard (200...206).contains(response.status) else {
      let lacksRoot = lacksFolder(response) && FolderMaking(of: path, below: root) == nil
      return .failure(
        lacksRoot
          ? FolderMaking.missing(root, response, to: "PUT") : refusal(response, doing: "upload", now: now))
    }
    return .success(ChunkReceipt(token: response.headers["ETag"].map(Self.opaque)))
  }

  /// Servers read a body to its end before they say that its folder is missing, and nginx says so with a 500.
  package func folderMaking() -> (folder: WebURL, making: any Exchange)? {
    guard let making = FolderMaking(of: path, below: root) else { return nil }
    return (folder, making)
  }

  package func remedy(for response: Response, now: Double) -> (any Exchange)? {
    lacksFolder(response) ? FolderMaking(of: path, below: root) : nil
  }

  /// 409 says that the folder is not there (RFC 4918, 9.7.1); some servers say 404.
  private func lacksFolder(_ response: Response) -> Bool { [404, 409].contains(response.status) }

  /// Bytes up to which a file is not looked at before it gets its name: a request more would be much for it.
  private static let small: Int64 = 1 << 20

  package func arrival(in session: RemoteSession, of source: UploadSource) -> Request? {
    source.size > Self.small ? query(session, after: nil) : nil
  }

  package func objection(
    to response: Response, in session: RemoteSession, of source: UploadSource
  ) -> Failure? {
    let place = temporary(session)
    guard case .success(let there) = object(response, at: place, doing: "look at the temporary name", 0)
    else { return nil }
    if let size = there.size, size != source.size {
      return Self.short(place, size, of: source.size, before: url)
    }
    for (algorithm, ours) in source.digests {
      guard let theirs = there.digests[algorithm], theirs != ours else { continue }
      return Failure(
        .integrityMismatch, "\(place): the server's \(algorithm.rawValue) is \(theirs), the source's \(ours)",
        expected: ours, actual: theirs)
    }
    return nil
  }

  /// What arrived is sent again.
  static func short(
    _ temporary: WebURL, _ arrived: Int64, of size: Int64, before destination: WebURL
  ) -> Failure {
    Failure(
      .lengthMismatch,
      "\(temporary) holds \(arrived) bytes of the \(size) that were sent; \(destination) is not replaced",
      class: .damaged(chunk: nil), expected: String(size), actual: String(arrived))
  }

  package func closing(_ session: RemoteSession, source: UploadSource) -> (any Exchange)? {
    WebDAVClosing(
      temporary(session), to: url, depth: depth, size: source.size, mustBeNew: source.mustBeNew)
  }

  package func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request? {
    nil
  }

  package func finalized(
    _ response: Response, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Result<UploadedFile, Failure> {
    guard (200...207).contains(response.status),
      response.status != 207 || MultiStatus(response).map({ $0.refused == nil }) ?? false
    else {
      var failure = refusal(response, doing: Self.ending, now: now)
      if response.status == 412, source.mustBeNew { failure.code = .destinationExists }
      return .failure(failure)
    }
    return .success(UploadedFile(remoteID: path))
  }

  package func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile {
    UploadedFile(remoteID: path)
  }

  // MARK: What is there

  package func look() -> Request? { MultiStatus.ask(url, depth: 0) }
  package func inspect(_ file: UploadedFile) -> Request? { look() }
  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? { WebDAVDownload(url: url) }

  package func inspected(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    object(response, at: url, doing: "look at the upload", now)
  }

  private var folder: WebURL { root.appending(WebURL.encode(String(names.folder))) }

  package func lookAtFolder() -> Request? { MultiStatus.ask(folder, depth: 1) }

  /// A name that the server writes in another way is not found, and asked for by itself.
  package func foundInFolder(_ response: Response) -> (object: RemoteObject?, names: Int)? {
    guard response.status == 207, let list = try? FolderNames(response, asked: folder) else { return nil }
    let own = names.own
    let there = list.files.first { $0.name.utf8.elementsEqual(own.utf8) }?.1
    let isTold = there.map { $0.size != nil } ?? false
    let count = list.files.count + list.folders.count + list.refused.count
    return (isTold ? there.map(Self.object) : nil, count)
  }

  package func file(_ object: RemoteObject) -> UploadedFile {
    UploadedFile(remoteID: path, etag: object.etag, digests: object.digests)
  }

  /// A MOVE keeps a file's tag where it keeps its time.
  package func matches(_ object: RemoteObject, session: RemoteSession, chunks: [ChunkRecord]) -> Bool {
    guard let etag = object.etag, let chunk = chunks.first else { return false }
    return chunks.count == 1 && chunk.receipt == etag
  }

  private func object(
    _ response: Response, at place: WebURL, doing what: String, _ now: Double
  ) -> Result<RemoteObject, Failure> {
    guard (200...299).contains(response.status) else {
      return .failure(refusal(response, doing: what, now: now))
    }
    let status = MultiStatus(response)
    guard let first = status?.resources.first else {
      return .failure(
        Failure(
          .protocolViolation,
          "\(response.url) answered PROPFIND without a multi-status: is it a WebDAV server?",
          httpStatus: response.status))
    }
    // What lies elsewhere proves nothing.
    guard let there = status?.resource(at: place, depth: depth) else {
      return .failure(
        Failure(
          .protocolViolation,
          "\(place) was asked for, and the answer to PROPFIND is of `\(first.href.truncated(to: 300))`",
          httpStatus: response.status))
    }
    guard !there.isRefused else {
      return .failure(WebDAVError.of(response, as: there, doing: what, now: now))
    }
    guard there.isFolder != true else {
      return .failure(Failure(.destinationExists, "\(response.url) is a folder, where a file is to be"))
    }
    return .success(Self.object(there))
  }

  private static func object(_ there: MultiStatus.Resource) -> RemoteObject {
    var object = RemoteObject()
    object.size = there.size
    object.etag = there.etag.map(opaque)
    object.contentType = there.type
    object.lastModified = there.modified
    object.digests = there.digests
    return object
  }

  /// Without `W/`: servers call a tag weak for the second in which its file was written (Apache), and the same tag strong
  /// from then on.
  static func opaque(_ etag: String) -> String { etag.hasPrefix("W/") ? String(etag.dropFirst(2)) : etag }

  package func refuses(_ response: Response) -> Bool {
    response.status >= 400 || response.status == 207 && MultiStatus(response)?.refused != nil
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    WebDAVError.of(response, doing: what, now: now)
  }
}
