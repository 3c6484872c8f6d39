import Curl
import Glibc
import Testing

@Suite(.timeLimit(.minutes(30)))
struct TimeTests {
  let thread: NetworkThread

  init() throws { thread = try NetworkThread() }

  @Test(arguments: [
    ("", 0, "firstByte"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", 0, "stall"),
    // A server that takes none of a body.
    ("", 30_000_000, "stall"),
  ])
  func `gives up on silence`(response: String, upload: Int, phase: String) async {
    let server = ScriptedServer { connection in
      _ = connection.head()
      connection.send(response)
      sleep(5)
    }
    defer { server.stop() }
    defer { thread.shutdown() }
    var options = CurlOptions()
    options.firstByteTimeout = 0.5
    options.stallTimeout = 0.5
    var request = CurlRequest(url: server.url, options: options)
    if upload > 0 {
      request.method = "PUT"
      request.body = .stream(length: Int64(upload), source: PausingSource(length: upload))
    }
    let error = await failure { [request] () async throws(CurlError) in
      try await thread.perform(request, sink: Collector())
    }
    guard case .timedOut(let at) = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect("\(at)" == phase)
    #expect(error?.receivedBytes == !response.isEmpty)
  }

  /// Interim answers (RFC 9110, 15.2), and a head whose body does not come, are no answer yet.
  @Test(arguments: [
    ("HTTP/1.1 102 Processing\r\n\r\n", 50, 0), ("HTTP/1.1 100 Continue\r\n\r\n", 50, 2_000_000),
    ("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 50, 10),
    ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 1, 0),
  ])
  func `what is no answer does not prolong the wait`(head: String, times: Int, upload: Int) async {
    let server = ScriptedServer { connection in
      _ = connection.head()
      // Ten a second: before the body, while it comes, and behind it.
      if times > 1 { connection.send(head) }
      _ = connection.read(upload)
      for _ in 0..<times {
        connection.send(head)
        usleep(100_000)
      }
      sleep(5)
    }
    defer { server.stop() }
    defer { thread.shutdown() }
    var options = CurlOptions()
    options.firstByteTimeout = 0.5
    // What is not begun can't stall.
    options.stallTimeout = upload > 0 ? 30 : 0.2
    options.expectContinue = true
    var request = CurlRequest(url: server.url, options: options)
    if upload > 0 {
      request.method = "PUT"
      request.body = .stream(length: Int64(upload), source: PausingSource(length: upload))
    }
    let error = await failure { [request] () async throws(CurlError) in
      try await thread.perform(request, sink: Collector())
    }
    guard case .timedOut(.firstByte) = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.receivedBytes == true)
  }

  /// Without any time limit: their bytes are counted.
  @Test(arguments: ["HTTP/1.1 102 Processing\r\n\r\n", "X-More: and more\r\n"])
  func `heads without end end the request`(part: String) async {
    let server = ScriptedServer { connection in
      _ = connection.head()
      connection.send("HTTP/1.1 103 Early Hints\r\n" + (part.hasPrefix("H") ? "\r\n" : ""))
      for _ in 0..<100 { connection.send(String(repeating: part, count: 1000)) }
      sleep(5)
    }
    defer { server.stop() }
    defer { thread.shutdown() }
    var options = CurlOptions()
    (options.firstByteTimeout, options.stallTimeout) = (nil, nil)
    let sink = Collector()
    let error = await failure { [options] () async throws(CurlError) in
      try await thread.perform(CurlRequest(url: server.url, options: options), sink: sink)
    }
    #expect(error?.name == "protocolViolation", "\(String(describing: error))")
    #expect(sink.heads.isEmpty)
  }

  /// A body that begins later than it may stall is not slow.
  @Test func `a late answer is taken`() async throws {
    let server = ScriptedServer { connection in
      _ = connection.head()
      usleep(700_000)
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
      usleep(700_000)
      connection.send("hello")
    }
    defer { server.stop() }
    defer { thread.shutdown() }
    var options = CurlOptions()
    (options.firstByteTimeout, options.stallTimeout) = (30, 0.3)
    let sink = Collector()
    _ = try await thread.perform(CurlRequest(url: server.url, options: options), sink: sink)
    #expect(sink.text == "hello")
  }

  @Test func `a slow connection is a timeout of its own`() async {
    // A listener whose queue is never emptied still connects; a blackhole address does not.
    var options = CurlOptions()
    options.connectTimeout = 0.3
    options.minimumTLS = .tls12
    let server = ScriptedServer { _ in sleep(3) }
    defer { server.stop() }
    defer { thread.shutdown() }
    // TLS is part of connecting, and this server never says hello.
    let request = CurlRequest(url: "https://127.0.0.1:\(server.port)/", options: options)
    let error = await failure { () async throws(CurlError) in
      try await thread.perform(request, sink: Collector())
    }
    guard case .timedOut(.connect) = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a canceled task takes its request off at once`() async {
    let server = ScriptedServer { connection in
      _ = connection.head()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
      _ = connection.head()
    }
    defer { server.stop() }
    defer { thread.shutdown() }
    let url = server.url
    let thread = thread
    let start = ContinuousClock.now
    let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      let sink = Collector()
      sink.onBody = { _ in
        beginning.yield()
        return .take
      }
      return await failure { () async throws(CurlError) in
        try await thread.perform(CurlRequest(url: url), sink: sink)
      }
    }
    for await _ in begun { break }
    task.cancel()
    let error = await task.value
    #expect(error?.name == "cancelled")
    #expect(start.duration(to: .now) < .seconds(30))
    // A task that was canceled before is no different.
    let late = Task { () -> CurlError? in
      withUnsafeCurrentTask { $0?.cancel() }
      return await failure { () async throws(CurlError) in
        try await thread.perform(CurlRequest(url: url), sink: Collector())
      }
    }
    #expect(await late.value?.name == "cancelled")
  }

  @Test func `sleeps as long as it is told, and not when canceled`() async throws {
    let thread = thread
    defer { thread.shutdown() }
    let start = ContinuousClock.now
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<1000 {
        group.addTask { try? await thread.sleep(seconds: 0.2) }
      }
    }
    // One after the other they would take 200 seconds, however fast the machine is.
    let waited = start.duration(to: .now)
    #expect(waited >= .milliseconds(200) && waited < .seconds(150))
    let task = Task { try await thread.sleep(seconds: 100) }
    try await Task.sleep(for: .milliseconds(50))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `a shutdown ends what is open, and actors live on`() async throws {
    let server = ScriptedServer { connection in
      _ = connection.head()
      _ = connection.head()
    }
    defer { server.stop() }
    let thread = thread
    let url = server.url
    async let open = failure { () async throws(CurlError) in
      try await thread.perform(CurlRequest(url: url), sink: Collector())
    }
    let asleep = Task { try await thread.sleep(seconds: 100) }
    try await Task.sleep(for: .milliseconds(100))
    thread.shutdown()
    #expect(await open?.name == "cancelled")
    await #expect(throws: CancellationError.self) { try await asleep.value }
    try await Task.sleep(for: .milliseconds(50))
    for _ in 0..<50 { #expect(await Counter(thread).next() == 1) }
    let late = await failure { () async throws(CurlError) in
      try await thread.perform(CurlRequest(url: url), sink: Collector())
    }
    #expect(late?.name == "cancelled")
  }
}

private actor Counter {
  let thread: NetworkThread
  var count = 0
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
  init(_ thread: NetworkThread) { self.thread = thread }
  func next() -> Int {
    count += 1
    return count
  }
}
