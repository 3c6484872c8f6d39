import Admission
package import Curl
import Endpoints
import JobModel

/// The transport over libcurl, on one network thread.
package struct CurlTransport: Transport {
  private let thread: NetworkThread
  private let pacer: Pacer
  private let userAgent: String
  private let proxies: ProxyEnvironment
  private let logins: ProxyLogins

  /// - Parameters:
  ///   - proxies: what `proxy: env` means.
  ///   - secrets: where passwords of proxies come from.
  package init(
    thread: NetworkThread, userAgent: String, proxies: ProxyEnvironment, secrets: SecretSource? = nil
  ) {
    logins = ProxyLogins(secrets)
    self.thread = thread
    pacer = Pacer(thread: thread)
    self.userAgent = userAgent
    self.proxies = proxies
  }

  package var executor: any SerialExecutor & TaskExecutor { thread }

  package nonisolated(nonsending) func sleep(seconds: Double) async throws {
    try await thread.sleep(seconds: seconds)
  }

  package nonisolated(nonsending) func send(_ request: WireRequest, sink: any BodyWriter) async throws {
    // What a spent budget would keep is not asked for: what is under way fills buffers that nobody counts.
    if Self.budgeted(request) != nil, let throttle = request.throttle {
      while throttle.keepsBytes() { try await Task.sleep(for: Self.budgetLook) }
    }
    let proxy = try await proxy(for: request)
    var options = CurlOptions(request.policy, userAgent: userAgent)
    options.proxy = proxy
    // Through a proxy the addresses are the proxy's own.
    if proxy == nil { options.admission = try AddressRule(request.policy).admission(for: request) }
    if let rate = request.throttle?.rate(.download) {
      let fit = ReceiveWindow(rate, request)
      options.receiveStep = fit.step
      options.receiveBuffer = fit.buffer
      options.segmentSize = fit.segment
    }
    let body: CurlRequest.Body
    let pace = Pace(
      pacer, thread: thread, throttle: request.throttle, budgeted: Self.budgeted(request)
    ) { ReceiveWindow($0, request) }
    defer { pace.end() }
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
    let result: CurlResult
    do {
      result = try await thread.perform(wire, sink: PacedWriter(sink, pace: pace))
    } catch {
      if Task.isCancelled { throw CancellationError() }
      throw TransportFault.translate(error, request)
    }
    // A server that hangs up behind its answer ends the upload there, and to libcurl all is well.
    guard case .stream(let length, _) = body, result.bytesSent < length, (200...299).contains(result.status)
    else { return }
    throw Failure(
      .protocolViolation,
      "\(request.url) answered \(result.status) when \(result.bytesSent) of \(length) bytes were sent",
      httpStatus: result.status)
  }

  /// How often a request looks whether a spent budget still keeps it.
  private static let budgetLook = Duration.milliseconds(200)

  /// What a spent budget keeps of a request: a body that is sent, or one that is asked for. The answer to a body that the
  /// server has is waited for.
  static func budgeted(_ request: WireRequest) -> Direction? {
    guard !request.isShort, !request.isCleanup else { return nil }
    return switch request.body {
    case .source: .upload
    case .none where request.method == "GET": .download
    case .none, .bytes: nil
    }
  }

  /// - Throws: `Failure` where a proxy would hide the address that the policy wants to judge.
  private nonisolated(nonsending) func proxy(for request: WireRequest) async throws -> String? {
    let proxy: String? =
      switch request.policy.proxy {
      case .none: nil
      case .environment: proxies.proxy(for: request.url)
      case .url(let url): proxies.isException(request.url.host) ? nil : url
      case .login(let url, let user, let password):
        proxies.isException(request.url.host)
          ? nil : try await logins.address(of: url, user: user, password: password)
      }
    if case .environment = request.policy.proxy, let proxy, let fault = ProxyEnvironment.fault(in: proxy) {
      throw Failure(
        .policyDenied,
        "\(request.method) \(request.url): the proxy that the environment names \(fault); nothing was sent. Correct "
          + "`\(request.url.scheme)_proxy` or `all_proxy`, or use `proxy: none`")
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

private final class PacedWriter: CurlSink {
  private let sink: any BodyWriter
  private let pace: Pace

  init(_ sink: any BodyWriter, pace: Pace) {
    self.sink = sink
    self.pace = pace
  }

  func head(status: Int, headers: CurlHeaders) throws {
    var list = HeaderList()
    for field in headers { list.append(field.name, field.value) }
    if let length = list["content-length"].flatMap({ Int64($0) }) { pace.begins(length) }
    try sink.head(ResponseHead(status: status, headers: list))
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws -> StreamDecision {
    guard !sink.mustWait(pace.resumption) else { return .pause }
    guard pace.mayMove(bytes.count, .download) else { return .pause }
    try sink.body(bytes)
    pace.moved(bytes.count)
    return .take
  }
}

/// Used on the network thread alone, hence sendable to it.
private final class PacedBody: CurlBodySource, @unchecked Sendable {
  private let source: any ByteReader
  private let pace: Pace

  init(_ source: any ByteReader, pace: Pace) {
    self.source = source
    self.pace = pace
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> BodyRead {
    guard !source.lacksBytes(pace.resumption) else { return .pause }
    let step = pace.step(buffer.count)
    guard pace.mayMove(step, .upload) else { return .pause }
    let count = try source.read(into: .init(rebasing: buffer.prefix(step)))
    pace.moved(count)
    return .bytes(count)
  }

  func settle(sent: Int64) { source.settle(sent: sent) }

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
