import Endpoints
import JobModel
import LocalFiles
import Synchronization
import Testing

@testable import HTTPClient
@testable import Transfers

/// The one adapter between uploads and HTTP: what answers mean to who uploads.
struct HTTPSinkTests {
  private let session = RemoteSession(id: "s1", chunkSize: 4)
  private let source = UploadSource(size: 6, contentType: "text/plain", chunkSize: 4)

  private func name(_ found: FoundFile?) -> String {
    switch found {
    case nil: "not asked"
    case .nothing: "nothing"
    case .object(let object, _): "object of \(object.size ?? -1)"
    case .hidden(let failure): "hidden \(failure.httpStatus ?? 0)"
    case .failed(let failure): "failed \(failure.httpStatus ?? 0)"
    }
  }

  @Test(arguments: [
    (200, "object of 6"), (404, "nothing"), (410, "nothing"), (401, "hidden 401"), (403, "hidden 403"),
    (405, "hidden 405"), (501, "hidden 501"), (400, "failed 400"),
  ])
  func looking(_ status: Int, _ found: String) async throws {
    let bench = try UploadBench(HTTPDriver()) { _ in .status(status, ["Content-Length": "6"]) }
    #expect(name(try await bench.sink.look(.retried)) == found)
    #expect(name(try await bench.sink.look(.once)) == found)
    #expect(bench.sink.place == "http://h/api/a.txt" && bench.sink.origin == "http://h")
  }

  /// A server whose ids are UUIDs, for instance, refuses a name as it likes: the file is looked for by the id that it gave.
  @Test(
    arguments: [
      (400, [:], "nothing", "object of 6"), (405, [:], "nothing", "object of 6"),
      (422, [:], "nothing", "object of 6"), (404, [:], "nothing", "object of 6"),
      (501, [:], "nothing", "object of 6"),
      (403, [:], "hidden 403", "hidden 403"),
      (400, ["Server": "depot/1"], "failed 400", "failed 400"),
    ] as [(Int, HeaderList, String, String)])
  func lookingByNameWhereIDsAreKnown(
    _ status: Int, _ headers: HeaderList, _ byName: String, _ byID: String
  ) async throws {
    let bench = try UploadBench { sent in
      sent.path == "/api/files/id-1/meta"
        ? .status(200, [:], #"{"size":6}"#) : .status(status, headers)
    }
    #expect(name(try await bench.sink.look(.retried)) == byName)
    #expect(name(try await bench.sink.look(for: UploadedFile(remoteID: "id-1"))) == byID)
  }

  @Test func onlyARetriedLookIsRetried() async throws {
    for (effort, requests) in [(LookEffort.once, 1), (.retried, 2)] {
      let bench = try UploadBench(HTTPDriver()) { _ in .broken() }
      await #expect(throws: (any Error).self) { _ = try await bench.sink.look(effort) }
      #expect(bench.transport.sent.count == requests)
    }
  }

  @Test func aFileThatWasTakenAndIsNotThere() async throws {
    let bench = try UploadBench(HTTPDriver()) { _ in .status(404) }
    let failure = try await UploadBench.failure {
      _ = try await bench.sink.inspect(UploadedFile(), source: source, chunks: [])
    }
    #expect(failure?.code == .notFound && failure?.httpStatus == 404)
  }

  @Test func beginning() async throws {
    let replies: [(Int, String, String)] = [
      (201, #"{"sessionId":"s1","chunkSize":4}"#, "opened"), (200, #"{"sessionId":"s1"}"#, "replayed"),
      (413, #"{"maxChunkSize":2}"#, "limited to 2"), (413, #"{"maxChunkSize":9}"#, "PROTOCOL_VIOLATION"),
      (400, "", "PROTOCOL_VIOLATION"), (404, "", "NOT_FOUND"), (404, #"{"code":"NO_ROUTE"}"#, "NOT_FOUND"),
      (404, #"{"code":"SESSION_EXPIRED"}"#, "SESSION_EXPIRED"),
    ]
    for (status, text, expected) in replies {
      let bench = try UploadBench { _ in .status(status, [:], text) }
      var keyed = source
      keyed.key = "k"
      var outcome = ""
      let failure = try await UploadBench.failure {
        switch try await bench.sink.begin(keyed, renewing: nil) {
        case .opened(let session, let isReplayed):
          outcome = isReplayed ? "replayed" : "opened"
          #expect(session.id == "s1" && session.chunkSize == 4)
        case .limited(let limit, _): outcome = "limited to \(limit)"
        }
      }
      #expect((failure?.code.rawValue ?? outcome) == expected)
    }
  }

  @Test func holdings() async throws {
    let told = #"{"receivedChunks":[1],"fileSize":6,"chunkSize":4}"#
    let bench = try UploadBench { _ in .status(200, [:], told) }
    let held = try await bench.sink.holdings(of: session, source: source)?.get()
    #expect(held.map { Set($0.chunks.keys) } == [1])
    let gone = try UploadBench { _ in .status(404, [:], #"{"code":"SESSION_EXPIRED"}"#) }
    guard case .failure(let failure)? = try await gone.sink.holdings(of: session, source: source) else {
      Issue.record("it is gone")
      return
    }
    #expect(failure.class == .sessionGone)
    let silent = try UploadBench(PresignedDriver())
    #expect(try await silent.sink.holdings(of: session, source: source) == nil)
    #expect(silent.transport.sent.isEmpty)
  }

  /// A list that goes on, and brings nothing new, is not read for ever.
  @Test func holdingsWithoutAnEnd() async throws {
    let list = """
      <ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>1</NextPartNumberMarker>\
      <Part><PartNumber>1</PartNumber><Size>4</Size><ETag>"e"</ETag></Part></ListPartsResult>
      """
    var settings = S3Settings()
    settings.bucket = "b"
    settings.bucket = "b"
    let bench = try UploadBench(S3Driver(settings)) { _ in .status(200, [:], list) }
    guard case .failure(let failure)? = try await bench.sink.holdings(of: session, source: source) else {
      Issue.record("it has an end")
      return
    }
    #expect(failure.code == .protocolViolation && bench.transport.sent.count == 2)
  }

  @Test func completing() async throws {
    let bench = try UploadBench { _ in
      .status(201, [:], #"{"remoteFileId":"f","fileHashSha256":"\#(FakeServer.sha256([1]))"}"#)
    }
    let file = try await bench.sink.complete(session, source: source, chunks: [])
    #expect(file.remoteID == "f" && file.digests == [.sha256: FakeServer.sha256([1])])
    // Its only request has closed it.
    let put = try UploadBench(HTTPDriver())
    _ = try await put.sink.complete(session, source: source, chunks: [])
    #expect(put.transport.sent.isEmpty)
  }

  /// The first try's answer was lost, and a server may refuse the second: the session tells of the file.
  @Test(
    arguments: [
      (#"{"receivedChunks":[0,1],"fileSize":6,"remoteFileId":"f"}"#, nil),
      (#"{"receivedChunks":[0,1],"fileSize":6}"#, .protocolViolation), ("<p>", .protocolViolation),
    ] as [(String, ErrorCode?)])
  func aCloseThatIsRefusedAsDone(_ told: String, _ code: ErrorCode?) async throws {
    let bench = try UploadBench { sent in
      sent.method == "GET" ? .status(200, [:], told) : .status(409, [:], #"{"code":"ALREADY_FINALIZED"}"#)
    }
    var file: UploadedFile?
    let failure = try await UploadBench.failure {
      file = try await bench.sink.complete(session, source: source, chunks: [])
    }
    #expect(failure?.code == code && failure?.httpStatus == (code == nil ? nil : 409))
    #expect(file?.remoteID == (code == nil ? "f" : nil))
    #expect(bench.transport.sent.map(\.method) == ["POST", "GET"])
  }

  /// A large file that has arrived short takes nobody's place.
  @Test(arguments: [(1000, ["PROPFIND"]), (2 << 20, ["PROPFIND", "MOVE"])])
  func whatHasArrivedIsLookedAt(_ size: Int, _ asked: [String]) async throws {
    let bench = try UploadBench(WebDAVDriver()) { sent in
      guard sent.method == "PROPFIND" else { return .status(201) }
      let text = """
        <D:multistatus xmlns:D="DAV:"><D:response><D:href>\(sent.path)</D:href><D:propstat><D:prop><D:resourcetype/>\
        <D:getcontentlength>\(size)</D:getcontentlength></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>\
        </D:response></D:multistatus>
        """
      return .status(207, [:], text)
    }
    let large = UploadSource(size: 2 << 20, contentType: "text/plain", chunkSize: 2 << 20)
    let arrived = RemoteSession(id: ".haul-0123456789abcdef0123456789abcdef.tmp", chunkSize: 2 << 20)
    let failure = try await UploadBench.failure {
      _ = try await bench.sink.complete(arrived, source: large, chunks: [])
    }
    #expect(bench.transport.sent.map(\.method) == asked)
    #expect(failure?.code == (asked.count == 1 ? .lengthMismatch : nil))
  }

  /// A body that a redirect has led elsewhere is not sent again and again.
  @Test(arguments: [true, false]) func aRedirectedBody(_ isRedirected: Bool) async throws {
    let bench = try UploadBench(WebDAVDriver()) { sent in
      guard sent.method == "PUT" else { return .status(404) }
      let isFirst = isRedirected && sent.url.host == "h"
      return isFirst ? .status(307, ["Location": "http://elsewhere/a"]) : .status(201)
    }
    let own = RemoteSession(id: ".haul-0123456789abcdef0123456789abcdef.tmp", chunkSize: 1)
    let file = try OpenFile.reading(bench.source)
    let failure = try await UploadBench.failure {
      let body = try ChunkBody(file: file, range: 0..<0, loan: nil, proof: nil) { _ in }
      let chunk = UploadChunk(index: 0, range: 0..<0)
      _ = try await bench.sink.put(chunk, body, session: own, source: source) { [] }.get()
      _ = try await bench.sink.complete(own, source: source, chunks: [])
    }
    #expect(failure?.code == (isRedirected ? .protocolViolation : .sessionExpired))
    #expect(failure?.message.contains("http://elsewhere/a") == isRedirected)
  }

  @Test(arguments: [(204, nil), (404, nil), (410, nil), (403, .forbidden)] as [(Int, ErrorCode?)])
  func ending(_ status: Int, _ code: ErrorCode?) async throws {
    let bench = try UploadBench { _ in .status(status) }
    #expect(bench.sink.origin(ending: session) == "http://h")
    #expect(try await bench.sink.abort(session)?.code == code)
    #expect(bench.transport.sent.map(\.method) == ["DELETE"])
    #expect(bench.requester.tally.requests == 1, "what cleans up counts as well")
  }

  @Test func readingBack() async throws {
    let bench = try UploadBench(HTTPDriver()) { _ in
      .status(200, ["Content-Length": "3"], "abc")
    }
    var moved = 0
    let there = try await bench.sink.readBack(UploadedFile()) { moved += $0 }
    #expect(there?.digest == FakeServer.sha256(Array("abc".utf8)) && moved == 3)
    let part = try UploadBench(HTTPDriver()) { _ in .status(206, ["Content-Range": "bytes 0-2/9"], "abc") }
    let failure = try await UploadBench.failure {
      _ = try await part.sink.readBack(UploadedFile()) { _ in }
    }
    #expect(failure?.httpStatus == 206 && failure?.code == .protocolViolation)
    #expect(try await UploadBench(PresignedDriver()).sink.readBack(UploadedFile()) { _ in } == nil)
  }

  @Test func chunks() async throws {
    let bench = try UploadBench(PresignedDriver()) { sent in
      guard sent.path.hasSuffix("getUploadUrls") else { return .status(200, ["ETag": "\"e\""]) }
      return .status(200, [:], #"{"urls":{"1":"http://store/1","2":"http://store/2"}}"#)
    }
    let file = try OpenFile.reading(bench.source)
    for index in 0...1 {
      let chunk = UploadChunk(index: index, range: 0..<0)
      let body = try ChunkBody(file: file, range: 0..<0, loan: nil, proof: nil) { _ in }
      let receipt = try await bench.sink.put(chunk, body, session: session, source: source) { [1] }.get()
      #expect(receipt.token == "e")
    }
    #expect(
      bench.transport.sent.map(\.url.description) == [
        "http://h/api/getUploadUrls", "http://store/1", "http://store/2",
      ])
    let chunk = UploadChunk(index: 2, range: 0..<0)
    let failure = try await UploadBench.failure {
      let body = try ChunkBody(file: file, range: 0..<0, loan: nil, proof: nil) { _ in }
      _ = try await bench.sink.put(chunk, body, session: session, source: source) { [] }
    }
    #expect(failure?.message == "http://h/api/getUploadUrls gave no URL for part 3")
  }

  /// The next try of a PUT replaces what stands there only where the one before may have left half of it.
  @Test(arguments: [(true, ["*", "*"]), (false, ["*", nil])])
  func whatWasNotSentLeftNothing(_ isUnconnected: Bool, _ conditions: [String?]) async throws {
    let left = Mutex(1)
    let bench = try UploadBench(HTTPDriver()) { _ in
      guard left.withLock({ ($0, $0 = 0).0 }) == 1 else { return .status(201) }
      var reply = Reply.broken()
      reply.fault?.isUnconnected = isUnconnected
      return reply
    }
    let file = try OpenFile.reading(bench.source)
    var new = source
    new.mustBeNew = true
    for _ in 1...2 {
      let body = try ChunkBody(file: file, range: 0..<0, loan: nil, proof: nil) { _ in }
      _ = try? await bench.sink.put(
        UploadChunk(index: 0, range: 0..<0), body, session: nil, source: new
      ) { [] }
    }
    #expect(bench.transport.sent.map { $0.headers["If-None-Match"] } == conditions)
  }

  /// Before the first file of a folder, and not before each: a body that is refused at its end has gone in vain.
  @Test(arguments: [
    ([201], ["MKCOL", "PUT", "PUT"]), ([405], ["MKCOL", "PUT", "PUT"]), ([301], ["MKCOL", "PUT", "PUT"]),
    ([403, 403], ["MKCOL", "MKCOL", "PUT", "PUT"]), ([503, 201], ["MKCOL", "PUT", "MKCOL", "PUT"]),
    ([409], ["MKCOL"]),
  ])
  func aFolderIsMadeOnce(_ statuses: [Int], _ asked: [String]) async throws {
    let left = Mutex(statuses)
    let bench = try UploadBench(WebDAVDriver(), "in/a.txt") { sent in
      guard sent.method == "MKCOL" else { return .status(201) }
      return .status(left.withLock { $0.isEmpty ? 409 : $0.removeFirst() })
    }
    let root = try #require(WebURL("http://h/api"))
    let other = HTTPSink(WebDAVDriver().upload("in/b.txt", at: root), bench.requester)
    let own = RemoteSession(id: ".haul-0123456789abcdef0123456789abcdef.tmp", chunkSize: 1)
    let file = try OpenFile.reading(bench.source)
    let failure = try await UploadBench.failure {
      for sink in [bench.sink, other] {
        let body = try ChunkBody(file: file, range: 0..<0, loan: nil, proof: nil) { _ in }
        let chunk = UploadChunk(index: 0, range: 0..<0)
        _ = try await sink.put(chunk, body, session: own, source: source) { [] }.get()
      }
    }
    #expect(bench.transport.sent.map(\.method) == asked)
    #expect(failure?.code == (asked.contains("PUT") ? nil : .notFound))
  }

  @Test func whoListsNothingHasNothingOpen() async throws {
    let bench = try UploadBench()
    guard case .sessions(let open, _) = try await bench.sink.sessions() else {
      Issue.record("nobody is asked")
      return
    }
    #expect(open.isEmpty && bench.transport.sent.isEmpty)
    #expect(try await bench.sink.prepare(source) == [:])
  }
}
