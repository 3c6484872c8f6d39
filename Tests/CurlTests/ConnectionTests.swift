import Curl
import Glibc
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(30)))
struct ConnectionTests {
  @Test func `one connection carries many requests`() async throws {
    let thread = try NetworkThread()
    defer { thread.shutdown() }
    let server = ScriptedServer { connection in
      while connection.head() != nil { connection.response("ok") }
    }
    defer { server.stop() }
    var reused = 0
    for _ in 0..<20 {
      let result = try await thread.perform(CurlRequest(url: server.url), sink: Collector())
      reused += result.reusedConnection ? 1 : 0
    }
    #expect(server.accepted == 1)
    #expect(reused == 19)
  }

  /// A server that has taken the request, and ends a kept connection before it answers.
  @Test(arguments: [("GET", true), ("PUT", true), ("DELETE", true), ("POST", false), ("MOVE", false)])
  func `what is not as good twice as once is not sent again unasked`(_ method: String, _ isRepeated: Bool)
    async throws
  {
    let thread = try NetworkThread()
    defer { thread.shutdown() }
    let heads = Atomic<Int>(0)
    let server = ScriptedServer { connection in
      while connection.head() != nil {
        guard heads.add(1, ordering: .relaxed).newValue != 2 else { return }
        connection.response("ok")
      }
    }
    defer { server.stop() }
    _ = try await thread.perform(CurlRequest(url: server.url), sink: Collector())
    let error = await failure { () async throws(CurlError) in
      try await thread.perform(CurlRequest(method: method, url: server.url), sink: Collector())
    }
    #expect(error?.name == (isRepeated ? nil : "emptyReply"))
    #expect(heads.load(ordering: .relaxed) == (isRepeated ? 3 : 2))
  }

  @Test func `a request that failed leaves nothing for the next one`() async throws {
    let thread = try NetworkThread()
    defer { thread.shutdown() }
    let server = ScriptedServer { connection in
      while connection.head() != nil { connection.response("ok") }
    }
    defer { server.stop() }
    for _ in 0..<3 {
      for wrong in ["http://127.0.0.1:1/", "http://no-such-host.invalid/"] {
        await #expect(throws: CurlError.self) {
          try await thread.perform(CurlRequest(url: wrong), sink: Collector())
        }
        let sink = Collector()
        _ = try await thread.perform(CurlRequest(url: server.url), sink: sink)
        #expect(sink.text == "ok")
      }
    }
  }

  @Test func `two hundred requests at once`() async throws {
    let thread = try NetworkThread()
    defer { thread.shutdown() }
    let server = ScriptedServer { connection in
      while let head = connection.head() {
        connection.response(String(repeating: String(head.prefix(8)), count: 5000))
      }
    }
    defer { server.stop() }
    let url = server.url
    let total = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 100..<300 {
        group.addTask {
          let sink = Collector()
          _ = try await thread.perform(CurlRequest(url: "\(url)\(number)"), sink: sink)
          #expect(sink.text.hasPrefix("GET /\(number)") && sink.text.hasSuffix("GET /\(number)"))
          return sink.bytes.count
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(total == 200 * 40_000)
  }

  @Test func `waiting for a slot is not a timeout`() async throws {
    let thread = try NetworkThread(limits: ConnectionLimits(total: 10, perOrigin: 2))
    defer { thread.shutdown() }
    let gauge = Gauge()
    let server = ScriptedServer { connection in
      while connection.head() != nil {
        gauge.enter()
        usleep(300_000)
        gauge.leave()
        connection.response("ok")
      }
    }
    defer { server.stop() }
    var options = CurlOptions()
    options.connectTimeout = 0.4
    options.firstByteTimeout = 1
    let request = { [options] in CurlRequest(url: server.url, options: options) }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<12 {
        let one = request()
        group.addTask { try await thread.perform(one, sink: Collector()).status }
      }
      for try await status in group { #expect(status == 200) }
    }
    #expect(gauge.most == 2)
  }

  @Test func `an actor on the thread sends without a hop`() async throws {
    let thread = try NetworkThread()
    defer { thread.shutdown() }
    let server = ScriptedServer { connection in
      while connection.head() != nil { connection.response("ok") }
    }
    defer { server.stop() }
    #expect(try await Local(thread).fetch(server.url) == "ok")
  }

  @Test func `a proxy is asked with the whole URL`() async throws {
    let thread = try NetworkThread()
    defer { thread.shutdown() }
    let server = ScriptedServer { connection in
      if let head = connection.head() { connection.response(String(head.prefix { $0 != "\r\n" })) }
    }
    defer { server.stop() }
    var options = CurlOptions()
    options.proxy = server.url
    let sink = Collector()
    _ = try await thread.perform(CurlRequest(url: "http://far.invalid/x", options: options), sink: sink)
    #expect(sink.text == "GET http://far.invalid/x HTTP/1.1")
  }

  @Test(arguments: [
    ("http://127.0.0.1:\(ScriptedServer.closedPort())/", "couldntConnect"),
    ("http://name.invalid/", "couldntResolve"),
    ("ftp://127.0.0.1/", "badURL"),
    ("file:///etc/passwd", "badURL"),
    ("http://[bad/", "badURL"),
    ("", "badURL"),
  ])
  func `names why there is no connection`(url: String, kind: String) async throws {
    let thread = try NetworkThread()
    defer { thread.shutdown() }
    let error = await failure { () async throws(CurlError) in
      try await thread.perform(CurlRequest(url: url), sink: Collector())
    }
    #expect(error?.name == kind, "\(String(describing: error))")
    #expect(error?.receivedBytes == false)
  }
}

private actor Local {
  let thread: NetworkThread
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  init(_ thread: NetworkThread) { self.thread = thread }

  func fetch(_ url: String) async throws -> String {
    #expect(thread.isCurrent)
    let sink = Collector()
    sink.onHead = { [thread] in #expect(thread.isCurrent) }
    _ = try await thread.perform(CurlRequest(url: url), sink: sink)
    thread.checkIsolated()
    try await thread.sleep(seconds: 0.01)
    #expect(thread.isCurrent)
    return sink.text
  }
}

/// How many are inside, at most.
private final class Gauge: Sendable {
  private let now = Atomic<Int>(0)
  private let highest = Atomic<Int>(0)
  var most: Int { highest.load(ordering: .relaxed) }
  func enter() { highest.max(now.add(1, ordering: .relaxed).newValue, ordering: .relaxed) }
  func leave() { now.subtract(1, ordering: .relaxed) }
}
