package import Curl
import JobModel
import Protocols

/// The transport over libcurl, on one network thread.
package struct CurlTransport: Transport {
  private let thread: NetworkThread
  private let userAgent: String
  private let proxies: ProxyEnvironment

  /// - Parameter proxies: what `proxy: env` means.
  package init(thread: NetworkThread, userAgent: String, proxies: ProxyEnvironment) {
    self.thread = thread
    self.userAgent = userAgent
    self.proxies = proxies
  }

  package var executor: any SerialExecutor { thread }

  package nonisolated(nonsending) func sleep(seconds: Double) async throws {
    try await thread.sleep(seconds: seconds)
  }

  package nonisolated(nonsending) func send(_ request: WireRequest, sink: any AnswerSink) async throws {
    let proxy = try proxy(for: request)
    var options = CurlOptions(request.policy, userAgent: userAgent)
    options.proxy = proxy
    // Through a proxy the addresses are the proxy's own.
    if proxy == nil { options.admission = try AddressRule(request.policy).admission(for: request) }
    let body: CurlRequest.Body
    let pace = Pace(thread: thread, throttle: request.throttle)
    switch request.body {
    case .none: body = .none
    case .bytes(let bytes): body = .bytes(bytes)
    case .source(let source, let length):
      // Asking first saves a large body that would be refused; a silent server costs a second.
      options.expectContinue = length >= 32 << 20
      body = .stream(length: length, source: PacedBody(source, pace: pace))
    }
    let wire = CurlRequest(
      method: request.method, url: request.url.text,
      headers: request.headers.fields.map { ($0.name, $0.value) }, body: body, options: options)
    pace.id = wire.id
    do {
      _ = try await thread.perform(wire, sink: PacedSink(sink, pace: pace))
    } catch {
      if Task.isCancelled { throw CancellationError() }
      throw TransportFault.translate(error, request)
    }
  }
}

extension CurlTransport {
  /// - Throws: `Failure` where a proxy would hide the address that the policy wants to judge.
  private func proxy(for request: WireRequest) throws -> String? {
    let proxy: String? =
      switch request.policy.proxy {
      case .none: nil
      case .environment: proxies.proxy(for: request.url)
      case .url(let url): proxies.isException(request.url.host) ? nil : url
      }
    if proxy != nil, !request.policy.deniedAddresses.isEmpty {
      throw Failure(
        .policyDenied,
        "\(request.method) \(request.url): a proxy would connect to the host, so that `addresses.deny` could not be "
          + "kept; nothing was sent. Use `proxy: none`, or leave `addresses` to the proxy")
    }
    return proxy
  }
}

/// Holds a request up when a rate limit says so. Used on the network thread alone, hence sendable to it.
private final class Pace: @unchecked Sendable {
  let thread: NetworkThread
  let throttle: Throttle?
  var id: CurlRequestID?
  private var isWaiting = false

  init(thread: NetworkThread, throttle: Throttle?) {
    self.thread = thread
    self.throttle = throttle
  }

  /// True while a debt is being waited off.
  var mustPause: Bool { isWaiting }

  func moved(_ count: Int, _ direction: Direction) {
    guard let throttle, let id else { return }
    let wait = throttle.moved(count, direction)
    guard wait > 0 else { return }
    isWaiting = true
    thread.schedule(after: wait) { [self] in
      isWaiting = false
      thread.resume(id)
    }
  }
}

private final class PacedSink: CurlSink {
  private let sink: any AnswerSink
  private let pace: Pace

  init(_ sink: any AnswerSink, pace: Pace) {
    self.sink = sink
    self.pace = pace
  }

  func head(status: Int, headers: CurlHeaders) throws {
    var list = HeaderList()
    for field in headers { list.append(field.name, field.value) }
    try sink.head(AnswerHead(status: status, headers: list))
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws -> SinkVerdict {
    if pace.mustPause { return .pause }
    try sink.body(bytes)
    pace.moved(bytes.count, .download)
    return .take
  }
}

/// Used on the network thread alone, hence sendable to it.
private final class PacedBody: CurlBodySource, @unchecked Sendable {
  private let source: any WireBodySource
  private let pace: Pace

  init(_ source: any WireBodySource, pace: Pace) {
    self.source = source
    self.pace = pace
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> BodyRead {
    if pace.mustPause { return .pause }
    // A slow limit wants small steps, or its first second is a burst of one buffer.
    let step = pace.throttle?.smallestRate.map { max(1024, Int($0 / 20)) } ?? buffer.count
    let count = try source.read(into: .init(rebasing: buffer.prefix(min(step, buffer.count))))
    pace.moved(count, .upload)
    return .bytes(count)
  }

  func rewind() throws {
    // libcurl repeats a request whose kept connection died before the answer; whether it arrived is to be asked first.
    guard source.mayBeRepeated else {
      throw TransportError(Failure(.networkUnreachable, "the connection broke before the answer came"))
    }
    try source.rewind()
  }
}

extension CurlOptions {
  fileprivate init(_ policy: EffectivePolicy, userAgent: String) {
    self.init()
    connectTimeout = policy.connectTimeout
    firstByteTimeout = policy.requestTimeout
    stallTimeout = policy.stallTimeout
    interface = policy.interface
    switch policy.ip {
    case .any: ipFamily = .any
    case .v4: ipFamily = .v4
    case .v6: ipFamily = .v6
    }
    minimumTLS = policy.tlsMinVersion == .v1_3 ? .tls13 : .tls12
    caFile = policy.caFile
    clientCertificate = policy.clientCertificate
    clientKey = policy.clientKey
    pinnedKeys = policy.pinnedKeys
    insecure = policy.insecure
    switch policy.httpVersion {
    case .auto, .v1_1: httpVersion = .http1
    case .v2: httpVersion = .http2
    }
    self.userAgent = policy.userAgent ?? userAgent
  }
}
