import Curl
import Testing

@Suite(.timeLimit(.minutes(30)))
struct UploadTests {
  let thread: NetworkThread

  init() throws { thread = try NetworkThread() }

  @Test(arguments: [0, 1, 100, 3_000_000], [true, false])
  func `sends a body of known length`(length: Int, streamed: Bool) async throws {
    let bytes = (0..<length).map(PausingSource.byte)
    let server = ScriptedServer { connection in
      guard let head = connection.head(), let body = connection.read(length) else { return }
      #expect(head.hasPrefix("PUT / HTTP/1.1\r\n"))
      #expect(head.contains("Content-Length: \(length)"))
      #expect(!head.contains("Expect") && !head.contains("Transfer-Encoding"))
      #expect(!head.contains("Content-Type") && head.contains("X-Empty:") && head.contains("X-A: b"))
      connection.response(body == bytes ? "same" : "different")
    }
    defer { stop(server) }
    let body: CurlRequest.Body =
      streamed ? .stream(length: Int64(length), source: PausingSource(length: length)) : .bytes(bytes)
    let sink = Collector()
    let result = try await thread.perform(
      CurlRequest(method: "PUT", url: server.url, headers: [("X-Empty", ""), ("X-A", "b")], body: body),
      sink: sink)
    #expect(sink.text == "same")
    #expect(result.bytesSent == Int64(length))
  }

  @Test func `a source that pauses goes on when told`() async throws {
    let length = 500_000
    let expected = (0..<length).map(PausingSource.byte)
    let server = ScriptedServer { connection in
      guard connection.head() != nil, let body = connection.read(length) else { return }
      connection.response(body == expected ? "same" : "different")
    }
    defer { stop(server) }
    let thread = thread
    var options = CurlOptions()
    // Shorter than the pause: a pause of ours counts for neither.
    options.stallTimeout = 1
    options.firstByteTimeout = 1
    var request = CurlRequest(method: "POST", url: server.url, options: options)
    let id = request.id
    let source = PausingSource(length: length, pauseAt: 100_000) {
      thread.schedule(after: 1.5) { thread.resume(id) }
    }
    request.body = .stream(length: Int64(length), source: source)
    let sink = Collector()
    _ = try await thread.perform(request, sink: sink)
    #expect(sink.text == "same")
  }

  @Test func `an early refusal is an response`() async throws {
    let server = ScriptedServer { connection in
      _ = connection.head()
      _ = connection.read(1000)
      connection.send("HTTP/1.1 409 Conflict\r\nContent-Length: 3\r\nConnection: close\r\n\r\nnot")
      // Drained, as a reset would take the answer with it.
      while connection.read(1) != nil {}
    }
    defer { stop(server) }
    let sink = Collector()
    let source = PausingSource(length: 50_000_000)
    let result = try await thread.perform(
      CurlRequest(method: "PUT", url: server.url, body: .stream(length: 50_000_000, source: source)),
      sink: sink)
    #expect(result.status == 409)
    #expect(sink.text == "not")
    #expect(result.bytesSent < 50_000_000)
    #expect(source.sent == result.bytesSent)
  }

  @Test func `asks first where it is told to, and goes on without`() async throws {
    let server = ScriptedServer { connection in
      while let head = connection.head() {
        if head.contains("Expect: 100-continue") {
          connection.send("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")
        } else {
          _ = connection.read(2_000_000)
          connection.response("done")
        }
      }
    }
    defer { stop(server) }
    var options = CurlOptions()
    options.expectContinue = true
    let sink = Collector()
    _ = try await thread.perform(
      CurlRequest(
        method: "PUT", url: server.url,
        body: .stream(length: 2_000_000, source: PausingSource(length: 2_000_000)), options: options),
      sink: sink)
    #expect(sink.heads == [200])
    #expect(sink.text == "done")
  }

  @Test func `a body shorter than it said ends the request`() async {
    let server = ScriptedServer { connection in
      while connection.read(1) != nil {}
    }
    defer { stop(server) }
    let error = await failure { () async throws(CurlError) in
      try await thread.perform(
        CurlRequest(
          method: "PUT", url: server.url, body: .stream(length: 100, source: PausingSource(length: 60))),
        sink: Collector())
    }
    #expect(error?.message == "the body ended after 60 of its 100 bytes")
  }

  @Test func `goes back to the start when a kept connection was dead`() async throws {
    let server = ScriptedServer { connection in
      guard let head = connection.head() else { return }
      if head.hasPrefix("GET") {
        connection.response("first")
        // Closes after libcurl has looked at the idle connection, and before the answer.
        _ = connection.head()
      } else {
        _ = connection.read(1000)
        connection.response("second")
      }
    }
    defer { stop(server) }
    _ = try await thread.perform(CurlRequest(url: server.url), sink: Collector())
    let source = PausingSource(length: 1000)
    let sink = Collector()
    _ = try await thread.perform(
      CurlRequest(method: "PUT", url: server.url, body: .stream(length: 1000, source: source)), sink: sink)
    #expect(sink.text == "second")
    #expect(server.accepted == 2)
  }

  @Test(arguments: [("A\r\nB", "c"), ("A", "b\nc"), ("", "x"), ("A:B", "c"), ("A", "\0")])
  func `refuses a header that would become another`(name: String, value: String) async {
    let error = await failure { () async throws(CurlError) in
      try await thread.perform(
        CurlRequest(url: "http://127.0.0.1:1/", headers: [(name, value)]), sink: Collector())
    }
    #expect(error?.name == "badRequest")
    thread.shutdown()
  }

  private func stop(_ server: ScriptedServer) {
    server.stop()
    thread.shutdown()
  }
}
