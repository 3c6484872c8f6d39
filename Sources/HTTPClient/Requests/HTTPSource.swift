import Endpoints
import JobModel

/// A protocol's way of fetching an object, and what sends its requests, as a source of bytes.
struct HTTPSource: RemoteSource {
  private let remote: any DownloadProtocol
  private let requester: Requester

  init(_ remote: any DownloadProtocol, _ requester: Requester) {
    self.remote = remote
    self.requester = requester
  }

  var place: String { "\(remote.url)" }
  var origin: String { "\(remote.url.origin)" }
  var name: String {
    remote.url.path.utf8.split(separator: 0x2F).last.map { WebURL.decode(Substring($0)) } ?? ""
  }
  var promisedDigests: Set<DigestAlgorithm> { remote.promisedDigests }
  var firstRangeDescribes: Bool { remote.firstRangeDescribes }
  var promisesRanges: Bool { remote.promisesRanges }
  func remoteID(of object: RemoteObject) -> String? { remote.remoteID(of: object) }
  func pinned(_ object: RemoteObject) -> RemoteObject? { remote.pinned(object) }

  nonisolated(nonsending) func describe(_ known: RemoteObject) async throws -> RemoteObject? {
    guard let request = remote.describe(known) else { return nil }
    let response = try await requester.call(request, asksWhy: true)
    return masked(try remote.described(response, now: now).get())
  }

  nonisolated(nonsending) func probe() async throws -> RemoteObject { try await probe(of: RemoteObject()) }

  nonisolated(nonsending) func probe(of known: RemoteObject) async throws -> RemoteObject {
    let request = remote.probe(of: known)
    var response =
      request.method == "GET" && request.headers["Range"] != nil
      ? try await requester.head(of: request) : try await requester.call(request, asksWhy: true)
    if response.status == 416 {
      // An empty file has no first byte, and the refusal mostly names no version: the whole answer does.
      response = try await requester.head(of: remote.get(nil, of: RemoteObject()), readsBody: false)
    }
    return masked(try remote.probed(response, now: now).get())
  }

  nonisolated(nonsending) func read(
    _ range: Range<Int64>?, of object: RemoteObject, wantsDigest: Bool, into receiver: any ByteReceiver
  ) async throws {
    let request = get(range, of: object, wantsDigest: wantsDigest)
    let sink = SourceSink(receiver) { head in
      try opening(head, wanted: range, object: object, url: request.url)
    }
    try await requester.send(request, body: .none) { sink }
    guard let head = sink.responseHead else { return }
    guard sink.announced != nil else {
      throw remote.refusal(
        requester.received(head, sink.text, from: request.url), doing: "download", now: now)
    }
    guard let end = sink.end(object.size) else {
      if case .whole? = sink.announced { try await confirmEnd(sink.reached, head, request.url) }
      return
    }
    guard sink.reached < end else { return }
    // Chunked coding has an end of its own: what came is all there is, however much was told before.
    if head.carriesWhole, head.headers["Transfer-Encoding"] != nil {
      throw Failure(
        .lengthMismatch, "\(request.url) sent \(sink.reached) bytes of a file of \(end)", httpStatus: 200,
        expected: String(end), actual: String(sink.reached))
    }
    throw Failure(
      .networkUnreachable, "\(request.url): the body ended \(end - sink.reached) bytes too early")
  }

  /// A body whose end only a closed connection told, or HTTP/2's RST_STREAM(NO_ERROR), which libcurl takes for one, may be
  /// cut: what else the server says of its size is asked for.
  private nonisolated(nonsending) func confirmEnd(
    _ reached: Int64, _ head: ResponseHead, _ url: WebURL
  ) async throws {
    guard head.headers["Transfer-Encoding"] == nil, head.headers["Content-Encoding"] == nil,
      seen(head).digests.isEmpty
    else { return }
    let request = remote.probe(of: RemoteObject())
    // Once: a server that won't tell holds nothing up.
    guard request.method == "HEAD", let response = try? await requester.once(request) else {
      return try Task.checkCancellation()
    }
    guard let told = try? remote.probed(response, now: now).get().size, reached < told else { return }
    throw Failure(.networkUnreachable, "\(url): the body ended \(told - reached) bytes too early")
  }

  nonisolated(nonsending) func digest(
    of range: Range<Int64>, of object: RemoteObject
  ) async throws -> RangeDigest? {
    // The answer ends with its head.
    let head = try await requester.head(of: get(range, of: object, wantsDigest: true), readsBody: false).head
    let response = remote.judge(head, wanted: range, object: object, seen: seen(head), now: now)
    return response == .bytes(range) ? DigestHeaders.content(head) : nil
  }

  nonisolated(nonsending) func tags(
    of object: RemoteObject
  ) async throws -> Result<[String: String], Failure>? {
    try await requester.tags(of: object, remote)
  }

  private var now: Double { requester.context.clock.now() }

  private func get(_ range: Range<Int64>?, of object: RemoteObject, wantsDigest: Bool) -> Request {
    var request = remote.get(range, of: object)
    if wantsDigest, range != nil {
      request.headers.append(DigestHeaders.wantContent.name, DigestHeaders.wantContent.value)
    }
    return request
  }

  /// A validator that repeats a secret is none.
  private func masked(_ object: RemoteObject) -> RemoteObject {
    object.without(requester.context.mask).without(requester.secrets)
  }

  private func seen(_ head: ResponseHead) -> RemoteObject { masked(remote.facts(head, now: now)) }

  /// - Returns: nil for a refusal, whose text is read for its message.
  /// - Throws: the refusal where its text would say no more, or where ranges make no sense.
  private func opening(
    _ head: ResponseHead, wanted: Range<Int64>?, object: RemoteObject, url: WebURL
  ) throws -> Opening? {
    let seen = seen(head)
    switch remote.judge(head, wanted: wanted, object: object, seen: seen, now: now) {
    case .refused where head.status == 416 && wanted?.lowerBound == 0 && object.size == nil:
      // Nothing to take a range of, or no ranges at all: the whole answer tells which.
      throw Failure(.rangeInvalid, "\(url) does not serve ranges", class: .rangesUnserved)
    case .refused(let failure):
      if head.status < 300 || failure.code == .rangeInvalid { throw failure }
      return nil
    case .changed(let seen): return Opening(.changed, seen: seen)
    case .nothing(let size):
      guard size == 0 else {
        throw Failure(
          .rangeInvalid, "\(url): nothing behind byte \(size), where more was asked for", httpStatus: 416)
      }
      var empty = seen
      empty.size = 0
      return Opening(.nothing, seen: empty)
    case .bytes(let range):
      return Opening(.bytes(range), seen: seen, digest: head.carriesWhole ? nil : DigestHeaders.content(head))
    case .untied(let range, let failure):
      let digest = head.carriesWhole ? nil : DigestHeaders.content(head)
      return Opening(.bytes(range), seen: seen, digest: digest, untied: failure)
    case .whole(let length): return Opening(.whole(length: length), seen: seen)
    }
  }
}

/// Gives an answer's body to a source's reader, or keeps a refusal's text.
///
/// Used on the transport's executor alone, hence sendable to it.
private final class SourceSink: BodyWriter, @unchecked Sendable {
  private let receiver: any ByteReceiver
  private let opening: (ResponseHead) throws -> Opening?
  private(set) var responseHead: ResponseHead?
  /// What the receiver was told; nil for a refusal.
  private(set) var announced: Opening.Extent?
  private(set) var text: [UInt8] = []
  /// Up to here the body has come.
  private(set) var reached: Int64 = 0

  init(_ receiver: any ByteReceiver, opening: @escaping (ResponseHead) throws -> Opening?) {
    self.receiver = receiver
    self.opening = opening
  }

  /// Where the announced bytes end; nil where that is not known, or where none were announced.
  func end(_ size: Int64?) -> Int64? {
    switch announced {
    case .bytes(let range): range.upperBound
    case .whole(let length): length ?? size
    case .nothing, .changed, nil: nil
    }
  }

  func head(_ head: ResponseHead) throws {
    responseHead = head
    guard let opening = try opening(head) else { return }
    if case .bytes(let range) = opening.extent { reached = range.lowerBound }
    announced = opening.extent
    try receiver.open(opening)
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws {
    switch announced {
    case .bytes, .whole:
      try receiver.take(bytes)
      reached += Int64(bytes.count)
    case .nothing, .changed: break
    case nil:
      if text.count < 65_536 { text += bytes.prefix(65_536 - text.count) }
    }
  }

  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool {
    announced != nil && receiver.mustWait(resume)
  }
}
