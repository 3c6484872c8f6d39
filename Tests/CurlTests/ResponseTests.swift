import Curl
import Testing

@Suite(.timeLimit(.minutes(30)))
struct AnswerTests {
  let thread: NetworkThread

  init() throws { thread = try NetworkThread() }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", [200], "hello"),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: 1\r\n\r\n",
      [200], "hello"
    ),
    ("HTTP/1.1 206 Partial Content\r\nConnection: close\r\n\r\nhello", [206], "hello"),
    ("HTTP/1.0 200 OK\r\n\r\n", [200], ""),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", [200], "hello"),
    ("HTTP/1.1 204 No Content\r\n\r\n", [204], ""),
    ("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", [404], "no"),
    ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", [302], ""),
    (
      "HTTP/1.1 102 P\r\nX: 1\r\n\r\nHTTP/1.1 103 H\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!",
      [200], "!"
    ),
    ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nraw", [200], "raw"),
  ])
  func `takes every form of response`(response: String, heads: [Int], body: String) async throws {
    let server = ScriptedServer { connection in
      if connection.head() != nil { connection.send(response) }
    }
    defer { stop(server) }
    let sink = Collector()
    let result = try await thread.perform(CurlRequest(url: server.url), sink: sink)
    #expect(sink.heads == heads)
    #expect(sink.text == body)
    #expect(result.status == heads[0])
    #expect(result.bytesReceived == Int64(body.utf8.count))
    // An interim answer's fields are not the final one's.
    #expect(result.headers["x"] == nil)
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "partialBody", true),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", "partialBody", true),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello", "receiveFailed", true),
    ("", "emptyReply", false),
    ("SSH-2.0-OpenSSH_9.2\r\n", "protocolViolation", true),
    ("HTTP/1.1 200 OK\r\n X: 1\r\nContent-Length: 0\r\n\r\n", "protocolViolation", true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n", "protocolViolation", true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\nhello", "protocolViolation", true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5, 7\r\n\r\nhello", "protocolViolation", true),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello", "protocolViolation", true
    ),
    ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhello", "protocolViolation", true),
  ])
  func `names what is wrong with an response`(response: String, kind: String, received: Bool) async {
    let server = ScriptedServer { connection in
      if connection.head() != nil { connection.send(response) }
    }
    defer { stop(server) }
    let error = await failure { () async throws(CurlError) in
      try await thread.perform(CurlRequest(url: server.url), sink: Collector())
    }
    #expect(error?.name == kind, "\(String(describing: error))")
    #expect(error?.receivedBytes == received)
    #expect(error?.message.isEmpty == false)
  }

  /// libcurl 7.88 wrote such a line into memory of the request before, which was free.
  @Test func `a folded first line follows other answers`() async throws {
    let server = ScriptedServer { connection in
      while let head = connection.head() {
        let line = head.hasPrefix("GET /folded") ? " X: 1\r\n" : ""
        connection.send("HTTP/1.1 200 OK\r\n\(line)ETag: \"1\"\r\nContent-Length: 0\r\n\r\n")
      }
    }
    defer { stop(server) }
    for _ in 1...20 {
      _ = try await thread.perform(CurlRequest(url: server.url), sink: Collector())
      let error = await failure { () async throws(CurlError) in
        try await thread.perform(CurlRequest(url: server.url + "folded"), sink: Collector())
      }
      #expect(error?.name == "protocolViolation")
    }
  }

  @Test func `reads header fields as they come`() async throws {
    let server = ScriptedServer { connection in
      _ = connection.head()
      connection.send("HTTP/1.1 503 Busy\r\nETag:  \"a\" \r\nX-A: 1\r\nx-a: 2\r\nRetry-After: 7\r\nOdd: ")
      connection.send([0xff, 0x41] + Array("\r\nOwn: \u{e9}\u{20ac}\r\nContent-Length: 0\r\n\r\n".utf8))
    }
    defer { stop(server) }
    let result = try await thread.perform(CurlRequest(url: server.url), sink: Collector())
    #expect(result.headers["etag"] == "\"a\"")
    #expect(result.headers.all("X-A") == ["1", "2"])
    #expect(result.headers["odd"] == "\u{ff}A", "Latin-1")
    #expect(result.headers["own"] == "\u{e9}\u{20ac}")
    #expect(result.headers["none"] == nil)
    #expect(
      result.headers.map(\.name) == ["ETag", "X-A", "x-a", "Retry-After", "Odd", "Own", "Content-Length"])
  }

  @Test func `joins a folded header line`() async throws {
    let server = ScriptedServer { connection in
      _ = connection.head()
      connection.send("HTTP/1.1 206 P\r\nContent-Range: bytes 0-4\r\n\t/9\r\n  x: y\r\n")
      connection.send("Content-Length: 0\r\n\r\n")
    }
    defer { stop(server) }
    let result = try await thread.perform(CurlRequest(url: server.url), sink: Collector())
    #expect(result.headers["content-range"] == "bytes 0-4 /9 x: y")
    #expect(result.headers.map(\.name) == ["Content-Range", "Content-Length"])
  }

  @Test func `asks for a head without its body`() async throws {
    let server = ScriptedServer { connection in
      while let head = connection.head() {
        #expect(head.hasPrefix("HEAD /x/../y%2F?a=%20 HTTP/1.1\r\n"))
        #expect(!head.contains("Accept-Encoding"))
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
      }
    }
    defer { stop(server) }
    let sink = Collector()
    let url = server.url + "x/../y%2F?a=%20"
    let result = try await thread.perform(CurlRequest(method: "HEAD", url: url), sink: sink)
    #expect(result.headers["content-length"] == "10")
    #expect(sink.heads == [200] && sink.bytes.isEmpty)
  }

  @Test func `a sink that refuses the head gets no body`() async {
    let server = ScriptedServer { connection in
      _ = connection.head()
      connection.response("hello")
    }
    defer { stop(server) }
    let sink = Collector()
    sink.onHead = { throw Refused() }
    let error = await failure { () async throws(CurlError) in
      try await thread.perform(CurlRequest(url: server.url), sink: sink)
    }
    guard case .aborted(let cause) = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause is Refused)
    #expect(sink.calls == 0)
  }

  @Test func `a sink that pauses gets the same bytes again`() async throws {
    let body = String(repeating: "0123456789", count: 20_000)
    let server = ScriptedServer { connection in
      _ = connection.head()
      connection.response(body)
    }
    defer { stop(server) }
    var options = CurlOptions()
    // Shorter than the pause: a pause of ours is no stall.
    options.stallTimeout = 0.3
    let request = CurlRequest(url: server.url, options: options)
    let sink = Collector()
    let thread = thread
    sink.onBody = { call in
      guard call == 1 || call == 4 else { return .take }
      thread.schedule(after: 0.7) { thread.resume(request.id) }
      return .pause
    }
    let result = try await thread.perform(request, sink: sink)
    #expect(sink.text == body)
    #expect(result.bytesReceived == 200_000)
  }

  private func stop(_ server: ScriptedServer) {
    server.stop()
    thread.shutdown()
  }
}
