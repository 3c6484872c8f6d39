import Admission
import Digests
import Endpoints
import Foundation
import JobLedger
import JobModel
import SFTPClient
import Testing

@testable import LocalFiles
@testable import HTTPClient

/// The one adapter between downloads and HTTP: what an answer's head and end mean to who reads.
struct HTTPSourceTests {
  private static func header(_ more: HeaderList, etag: String = "\"v1\"") -> HeaderList {
    var headers = more
    headers.append("ETag", etag)
    return headers
  }

  private func known(_ size: Int64?) -> RemoteObject {
    var object = RemoteObject()
    object.size = size
    object.etag = size == nil ? nil : "\"v1\""
    return object
  }

  /// Reads once from a server that gives this reply to everything.
  private func read(
    _ range: Range<Int64>?, of object: RemoteObject, wantsDigest: Bool = false, _ reply: Reply
  ) async throws -> (received: ReceivedBytes, sent: [Sent], failure: Failure?) {
    try await read(range, of: object, wantsDigest: wantsDigest, try Bench { _ in reply })
  }

  private func read(
    _ range: Range<Int64>?, of object: RemoteObject, wantsDigest: Bool = false, _ bench: Bench
  ) async throws -> (received: ReceivedBytes, sent: [Sent], failure: Failure?) {
    let received = ReceivedBytes()
    var failure: Failure?
    do {
      try await bench.source.read(range, of: object, wantsDigest: wantsDigest, into: received)
    } catch { failure = try Requester.failure(error) }
    return (received, bench.transport.sent, failure)
  }

  @Test func aRangeIsTold() async throws {
    let reply = Reply(
      status: 206, headers: Self.header(["Content-Range": "bytes 2-4/10"]), body: Array("cde".utf8))
    let (received, sent, failure) = try await read(2..<5, of: known(10), reply)
    #expect(failure == nil && received.bytes == Array("cde".utf8))
    #expect(received.opening?.extent == .bytes(2..<5) && received.opening?.seen.size == 10)
    #expect(received.opening?.digest == nil)
    #expect(sent.first?.headers["Range"] == "bytes=2-4" && sent.first?.headers["If-Range"] == "\"v1\"")
    #expect(sent.first?.headers["Want-Content-Digest"] == nil && received.opening?.untied == nil)
    // Who reads decides what becomes of a range that does not name its version.
    let unnamed = Reply(status: 206, headers: ["Content-Range": "bytes 2-4/10"], body: Array("cde".utf8))
    let (untied, _, none) = try await read(2..<5, of: known(10), unnamed)
    #expect(none == nil && untied.bytes == Array("cde".utf8))
    #expect(untied.opening?.untied?.class == .rangesUnserved)
  }

  @Test func aDigestOfTheRangeIsAskedForAndTold() async throws {
    let digest = try #require(Hex.decode(FakeServer.sha256(Array("cde".utf8))))
    let reply = Reply(
      status: 206,
      headers: Self.header([
        "Content-Range": "bytes 2-4/10", "Content-Digest": "sha-256=:\(Base64.encode(digest)):",
      ]), body: Array("cde".utf8))
    let (received, sent, _) = try await read(2..<5, of: known(10), wantsDigest: true, reply)
    #expect(received.opening?.digest == RangeDigest(.sha256, FakeServer.sha256(Array("cde".utf8))))
    #expect(sent.first?.headers["Want-Content-Digest"] == "sha-256=10")
  }

  @Test func everythingIsTold() async throws {
    let body = Array("abcdef".utf8)
    for (headers, length) in [(["Content-Length": "6"], 6), ([:], nil)] as [(HeaderList, Int64?)] {
      let (received, _, failure) = try await read(
        nil, of: known(nil), Reply(headers: Self.header(headers), body: body))
      #expect(failure == nil && received.bytes == body)
      #expect(received.opening?.extent == .whole(length: length))
    }
  }

  /// What only a closed connection, or a stream's reset without an error, has ended may be cut.
  @Test func anEndThatNobodyToldIsAskedFor() async throws {
    for (headers, told, isCut, requests) in [
      ([:], "6", false, 2), ([:], "9", true, 2), ([:], nil, false, 2),
      (["Transfer-Encoding": "chunked"], "9", false, 1), (["Content-Encoding": "gzip"], "9", false, 1),
    ] as [(HeaderList, String?, Bool, Int)] {
      let bench = try Bench { sent in
        guard sent.method == "HEAD" else {
          return Reply(headers: Self.header(headers), body: Array("abcdef".utf8))
        }
        return told.map { .status(200, ["Content-Length": $0]) } ?? .status(405)
      }
      let (received, sent, failure) = try await read(nil, of: known(nil), bench)
      #expect(received.bytes == Array("abcdef".utf8) && sent.count == requests, "\(headers) \(told ?? "-")")
      #expect(failure?.code == (isCut ? .networkUnreachable : nil), "\(headers) \(told ?? "-")")
    }
  }

  @Test func anotherVersionIsTold() async throws {
    let reply = Reply(
      status: 206, headers: Self.header(["Content-Range": "bytes 2-4/10"], etag: "\"v2\""),
      body: Array("cde".utf8))
    let (received, _, _) = try await read(2..<5, of: known(10), reply)
    #expect(received.opening?.extent == .changed && received.opening?.seen.etag == "\"v2\"")
    #expect(received.bytes.isEmpty)
    let (failed, _, _) = try await read(2..<5, of: known(10), .status(412))
    #expect(failed.opening?.extent == .changed)
  }

  @Test func a416TellsOfAnEmptyObjectOrOfNoRanges() async throws {
    let (empty, _, failure) = try await read(
      0..<1000, of: known(nil), .status(416, ["Content-Range": "bytes */0"]))
    #expect(failure == nil && empty.opening?.extent == .nothing && empty.opening?.seen.size == 0)
    let (unsaid, _, none) = try await read(0..<1000, of: known(nil), .status(416))
    #expect(none?.class == .rangesUnserved && unsaid.opening == nil)
    let (_, _, behind) = try await read(2..<5, of: known(10), .status(416, ["Content-Range": "bytes */10"]))
    #expect(behind?.code == .rangeInvalid && behind?.class == .transient && behind?.httpStatus == 416)
  }

  @Test(arguments: [
    (403, ErrorCode.forbidden, FailureClass.denied), (404, .notFound, .permanent),
    (500, .serverError, .transient), (429, .rateLimited, .transient),
  ]) func refusalsAreFailures(_ status: Int, _ code: ErrorCode, _ meaning: FailureClass) async throws {
    let (received, _, failure) = try await read(nil, of: known(nil), .status(status, [:], "it is shut"))
    #expect(failure?.code == code && failure?.class == meaning && failure?.httpStatus == status)
    #expect(received.opening == nil && received.bytes.isEmpty)
  }

  /// A server may echo what signs a URL without the URL around it.
  @Test func whatAQueryHoldsIsNotTold() async throws {
    let url = "http://h/f/a?X-Amz-Signature=s1gn%2Fature&key=v41ue+of+it&v=version-1&type=text/plain"
    func answer(_ reply: Reply) async throws -> (received: ReceivedBytes, failure: Failure?) {
      let (received, _, failure) = try await read(nil, of: known(nil), try Bench(url) { _ in reply })
      return (received, failure)
    }
    let text = "s1gn/ature, s1gn%2fature and v41ue of it: download"
    let (_, refused) = try await answer(.status(500, ["Content-Type": "text/plain"], text))
    #expect(refused?.message == "download: HTTP 500 (***, *** and ***: download) from http://h/f/a?***")
    let (echoed, _) = try await answer(
      Reply(headers: [
        "ETag": "\"s1gn/ature\"", "Content-Type": "text/v41ue of it", "Content-Encoding": "version-1",
      ]))
    let seen = try #require(echoed.opening?.seen)
    #expect(seen.etag == nil && seen.contentType == nil && seen.contentEncoding == nil)
    let (plain, _) = try await answer(
      Reply(headers: ["ETag": "\"version-1\"", "Content-Type": "text/plain"]))
    #expect(plain.opening?.seen.etag == "\"version-1\"", "a version may stand in a query")
    #expect(plain.opening?.seen.contentType == "text/plain")
    let elsewhere = try Bench { sent in
      sent.url.host == "h"
        ? .status(302, ["Location": "https://other/a?sig=r3directed"])
        : .status(400, ["Content-Type": "text/plain"], "r3directed is wrong")
    }
    let (_, _, failure) = try await read(nil, of: known(nil), elsewhere)
    #expect(failure?.message.contains("(*** is wrong)") == true)
  }

  @Test func senselessRangesEndTheRead() async throws {
    let reply = Reply(
      status: 206, headers: Self.header(["Content-Range": "bytes 3-5/10"]), body: Array("def".utf8))
    let (received, _, failure) = try await read(2..<5, of: known(10), reply)
    #expect(failure?.code == .rangeInvalid && received.opening == nil && received.bytes.isEmpty)
  }

  /// All that was announced comes, or the read fails.
  @Test func aBodyThatEndsEarlyFails() async throws {
    let part = Reply(
      status: 206, headers: Self.header(["Content-Range": "bytes 2-4/10"]), body: Array("c".utf8))
    let (received, _, failure) = try await read(2..<5, of: known(10), part)
    #expect(failure?.code == .networkUnreachable && received.bytes == Array("c".utf8))
    // Chunked coding says itself where the body ends.
    let chunked = Reply(headers: Self.header(["Transfer-Encoding": "chunked"]), body: Array("abc".utf8))
    let (_, _, short) = try await read(nil, of: known(10), chunked)
    #expect(short?.code == .lengthMismatch && short?.expected == "10" && short?.actual == "3")
  }

  @Test func probingReadsNothing() async throws {
    let server = FakeServer { $0.files["a"] = Array("abc".utf8) }
    let bench = try Bench { server.response($0) }
    let object = try await bench.source.probe()
    #expect(object.size == 3 && object.etag != nil && object.digests[.sha256] != nil)
    #expect(try await bench.source.describe(RemoteObject()) == nil, "the first range tells it")
    #expect(bench.source.name == "a" && bench.source.place == "http://h/f/a")
    #expect(bench.source.origin == "http://h")
  }

  /// An empty file refuses its first byte without naming its version: the whole answer does.
  @Test func probingAnEmptyFile() async throws {
    let server = FakeServer { $0.files["a"] = [] }
    let bench = try Bench { sent in sent.method == "HEAD" ? .status(405) : server.response(sent) }
    let object = try await bench.source.probe()
    #expect(object.size == 0 && object.etag != nil)
  }

  @Test func aDigestOfARangeComesWithoutItsBytes() async throws {
    let digest = try #require(Hex.decode(FakeServer.sha256(Array("cde".utf8))))
    for (field, range) in [("bytes 2-4/10", true), ("bytes 2-3/10", false)] {
      let bench = try Bench { _ in
        Reply(
          status: 206,
          headers: Self.header([
            "Content-Range": field, "Content-Digest": "sha-256=:\(Base64.encode(digest)):",
          ]), body: Array("cde".utf8))
      }
      let told = try await bench.source.digest(of: 2..<5, of: known(10))
      #expect((told?.hex == FakeServer.sha256(Array("cde".utf8))) == range)
    }
  }
}

/// One source, `http://h/f/a`, over a scripted network.
private final class Bench {
  let transport: ScriptedTransport
  let source: HTTPSource

  init(_ url: String = "http://h/f/a", _ response: @escaping @Sendable (Sent) -> Reply) throws {
    transport = ScriptedTransport(response)
    let context = ClientContext(
      transport: transport, clock: EngineClock(now: { 1_700_000_000 }, random: { 0.5 }),
      secrets: SecretSource { _ in Secret("token") }, mask: SecretMask(),
      sftp: SFTPClient(SSHSurroundings(home: nil, agentSocket: nil)))
    let settings = TransferSettings(direction: .download)
    let remote = HTTPDownload(url: try #require(WebURL(url)))
    let requester = Requester(
      context, endpoint: nil, remote: remote, settings: settings, throttle: Throttle(settings.policy))
    source = HTTPSource(remote, requester)
  }
}
