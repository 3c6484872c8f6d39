import Admission
import Dispatch
import Endpoints
import HTTPClient
import JobModel
import Synchronization

/// An executor of its own for each test, as the network thread is one.
final class QueueExecutor: SerialExecutor, TaskExecutor {
  private let queue = DispatchQueue(label: "scripted-network")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(
        isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
    }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}

/// A request as the network saw it, its body read to the end.
struct Sent: Sendable {
  var number: Int
  var method: String
  var url: WebURL
  var headers: HeaderList
  var body: [UInt8]
  /// It passed without an admission of its own.
  var isPaired = false

  var path: String { url.path }
}

/// What comes back, or how it does not.
struct Reply: Sendable {
  var status = 200
  var headers = HeaderList()
  var body: [UInt8] = []
  /// The connection breaks: before the head, or after so many bytes of the body.
  var fault: Failure?
  var cut: Int?
  /// It is over without a fault, and without a head: neither status nor bytes.
  var isMute = false

  static func broken(_ code: ErrorCode = .networkUnreachable) -> Reply {
    Reply(fault: Failure(code, "scripted"))
  }
  static func status(_ status: Int, _ headers: HeaderList = [:], _ text: String = "") -> Reply {
    Reply(status: status, headers: headers, body: Array(text.utf8))
  }
}

extension NetworkState {
  /// A network that is there and costs nothing.
  static let test = NetworkState(isUp: { _ in true }, isMetered: { nil }, isThere: { true })
}

/// A network that a closure answers for.
final class ScriptedTransport: Transport {
  let executor: any SerialExecutor & TaskExecutor = QueueExecutor()
  private let response: @Sendable (Sent) -> Reply
  /// Told of each wait, which takes no time here.
  let onSleep = Mutex<(@Sendable (Double) async -> Void)?>(nil)
  /// Holds a request of this method up before it is answered.
  let onSend = Mutex<(@Sendable (String) async throws -> Void)?>(nil)
  private let log = Mutex<(sent: [Sent], delays: [Double])>(([], []))

  /// How long each request is on its way, while others may work.
  private let latency: Duration?

  init(latency: Duration? = nil, _ response: @escaping @Sendable (Sent) -> Reply) {
    self.latency = latency
    self.response = response
  }

  var sent: [Sent] { log.withLock { $0.sent } }
  var delays: [Double] { log.withLock { $0.delays } }

  nonisolated(nonsending) func sleep(seconds: Double) async throws {
    log.withLock { $0.delays.append(seconds) }
    await onSleep.withLock { $0 }?(seconds)
    await Task.yield()
    try Task.checkCancellation()
  }

  nonisolated(nonsending) func send(_ request: WireRequest, sink: any BodyWriter) async throws {
    try Task.checkCancellation()
    try await onSend.withLock { $0 }?(request.method)
    var body: [UInt8] = []
    switch request.body {
    case .none: break
    case .bytes(let bytes): body = bytes
    case .source(let source, let length):
      while Int64(body.count) < length {
        try await mayMove(request)
        await source.bytes()
        try read(source, &body)
      }
    }
    request.throttle?.count(body.count)
    if let latency { try await Task.sleep(for: latency) } else { await Task.yield() }
    let whole = body
    let sent = log.withLock { log in
      let sent = Sent(
        number: log.sent.count + 1, method: request.method, url: request.url, headers: request.headers,
        body: whole, isPaired: request.isPaired)
      log.sent.append(sent)
      return sent
    }
    let reply = response(sent)
    if let fault = reply.fault { throw TransportError(fault) }
    if reply.isMute { return }
    try sink.head(ResponseHead(status: reply.status, headers: reply.headers))
    let content = request.method == "HEAD" ? [] : reply.body
    var position = 0
    while position < min(content.count, reply.cut ?? .max) {
      if request.method == "GET" { try await mayMove(request) }
      let end = min(content.count, position + 700, reply.cut ?? .max)
      try content[position..<end].withUnsafeBytes { try sink.body($0) }
      request.throttle?.count(end - position)
      position = end
      await Task.yield()
      try Task.checkCancellation()
    }
    if reply.cut != nil {
      throw TransportError(Failure(.networkUnreachable, "scripted: the connection broke"))
    }
  }

  /// Bytes stand still once a budget is used up, as on the wire.
  private nonisolated(nonsending) func mayMove(_ request: WireRequest) async throws {
    guard !request.isShort, !request.isCleanup else { return }
    while request.throttle?.keepsBytes() == true { try await Task.sleep(for: .milliseconds(1)) }
  }

  private func read(_ source: any ByteReader, _ body: inout [UInt8]) throws {
    var block = [UInt8](repeating: 0, count: 900)
    let count = try block.withUnsafeMutableBytes { try source.read(into: $0) }
    body += block[..<count]
    if count == 0 { throw TransportError(Failure(.internal, "the body ended early")) }
  }
}
