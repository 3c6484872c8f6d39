import Curl
import Digests
import Endpoints
import Glibc
import JobModel
import Posix
import HTTPClient

/// Sends notices, each until it is delivered, refused, or its time is over.
struct NoticeCourier: Sendable {
  /// Seconds that one try of a request may take, whatever its receiver does.
  private static let request = 10.0
  /// Seconds that a command may take.
  private static let command = 60.0
  /// The exit status of a command that wants to be run again (EX_TEMPFAIL of sysexits.h).
  private static let tryAgain: Int32 = 75

  /// Seconds after which a notice that could not be delivered is given up.
  private static let longest = 7.0 * 86_400

  private let context: CommandContext
  /// On the clock of `SystemClock.uptime`: nothing begins after it, and no request goes on.
  private let deadline: Double
  /// No command goes on after it either.
  private let endsCommands: Bool
  private let mask = SecretMask()
  private let secrets: SecretSource

  init(_ context: CommandContext, until deadline: Double, endsCommands: Bool) {
    self.context = context
    self.deadline = deadline
    self.endsCommands = endsCommands
    secrets = context.secrets.source.teaching(mask)
  }

  /// Sends all: those of one receiver one after the other, others beside them. What a cancellation meets stays owed, and so
  /// do those for a URL behind one that does, unless a secret of that one is missing.
  ///
  /// - Parameter settled: called with what came of each that had its turn.
  func deliver(_ notices: [OwedNotice], settled: @escaping @Sendable (NoticeRecord) -> Void) async {
    guard !notices.isEmpty else { return }
    let thread = Result { try NetworkThread() }
    defer { if case .success(let thread) = thread { thread.shutdown() } }
    let transport = thread.map {
      CurlTransport(
        thread: $0, userAgent: "haul/\(ToolVersion.current)",
        proxies: ProxyEnvironment(context.environment.variables).teaching(mask), secrets: secrets)
    }
    let lines = Dictionary(grouping: notices) { $0.message.receiver }
    await withTaskGroup { group in
      for line in lines.values {
        group.addTask {
          for notice in line where !Task.isCancelled {
            let (record, lacksSecret) = await send(notice, transport)
            settled(record)
            // A start that comes after its end would raise an alarm. Commands of one name need not be of one meaning, and
            // a secret that only an older manifest names may never be there.
            guard record.state != .owed || lacksSecret || notice.message.kind == "command" else { return }
          }
        }
      }
    }
  }

  /// - Returns: what came of it, and whether it could not be made as a secret of it is not there.
  private func send(
    _ notice: OwedNotice, _ transport: Result<CurlTransport, any Error>
  ) async -> (record: NoticeRecord, lacksSecret: Bool) {
    var record = NoticeRecord(notice)
    var lacksSecret = false
    do {
      switch notice.message {
      case .command(let words, let variables, let folder):
        guard SystemClock.uptime < deadline else { throw Self.noTime }
        record.tries = 1
        try await run(words, variables, folder, notice)
      case .webhook, .ping: try await request(notice, try transport.get(), &record.tries)
      }
      record.state = .delivered
    } catch let failure as Failure {
      record.state = [.transient, .deferred].contains(failure.class) ? .owed : .failed
      record.error = mask.masked(failure.message)
      lacksSecret = failure.code == .secretUnavailable
    } catch is CancellationError {
      record.error = "interrupted"
    } catch {
      record.error = mask.masked("\(error)")
    }
    if record.state == .owed, SystemClock.now - notice.owedAt > Self.longest { record.state = .failed }
    return (record, lacksSecret)
  }

  // MARK: Commands

  private func run(
    _ words: [String], _ variables: [String: String], _ folder: String, _ notice: OwedNotice
  ) async throws {
    var own = context.environment.variables.filter { Self.isHarmless($0.key) }
    own.merge(variables) { $1 }
    own["HAUL_NOTICE_KEY"] = notice.key
    own["HAUL_NOTICE_EVENT"] = notice.event.rawValue
    let left = endsCommands ? max(0, deadline - SystemClock.uptime) : Self.command
    do {
      try await BoundedCommand.output(
        words, for: min(left, Self.command),
        in: .init(folder: folder, variables: own), showsErrors: context.console.style.takesForeignLines)
    } catch let fault as BoundedCommand.Fault {
      // One that was given less than its time has not failed: the next run gives it all.
      let isPassing = fault.status == Self.tryAgain || fault.isTimeout && left < Self.command
      throw Failure(.ioError, "the command \(fault.message)", class: isPassing ? .deferred : .permanent)
    }
  }

  /// A command gets no variable of ours that may be a secret.
  private static func isHarmless(_ name: String) -> Bool {
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"].contains(name)
      || name.hasPrefix("LC_")
  }

  // MARK: Requests

  private func request(
    _ notice: OwedNotice, _ transport: CurlTransport, _ tries: inout Int
  ) async throws {
    guard let policy = notice.policy else {
      throw Failure(
        .policyDenied, "the policy that says where it may go can't be read from the manifest",
        class: .permanent)
    }
    let retry = RetryPolicy(policy)
    while true {
      let left = deadline - SystemClock.uptime
      guard left > 0 else { throw Self.noTime }
      tries += 1
      do { return try await once(notice, policy, transport, within: min(left, Self.request)) } catch let
        failure
        as Failure
      {
        guard
          case .repeatRequest(let delay) = retry.next(
            after: failure, tries: tries, mayRenew: false, random: Double.random(in: 0..<1)),
          SystemClock.uptime + delay < deadline
        else { throw failure }
        try await Task.sleep(for: .seconds(delay))
      }
    }
  }

  private static var noTime: Failure { Failure(.timeout, "no time was left for it") }

  /// One try: its secrets, redirects and all.
  private func once(
    _ notice: OwedNotice, _ policy: EffectivePolicy, _ transport: CurlTransport, within limit: Double
  ) async throws {
    try await withThrowingTaskGroup { group in
      defer { group.cancelAll() }
      group.addTask { try await exchange(notice, policy, transport, within: limit) }
      group.addTask {
        try await Task.sleep(for: .seconds(limit))
        throw Failure(.timeout, "it was not answered within \(Int(limit.rounded(.up))) s")
      }
      _ = try await group.next()
    }
  }

  private func exchange(
    _ notice: OwedNotice, _ given: EffectivePolicy, _ transport: CurlTransport, within limit: Double
  ) async throws {
    var policy = given
    policy.connectTimeout = min(policy.connectTimeout, limit)
    policy.requestTimeout = min(policy.requestTimeout, limit)
    policy.stallTimeout = min(policy.stallTimeout, limit)
    var (url, method, headers, body) = try await content(of: notice)
    for _ in 0...policy.redirects {
      let head = try await answer(
        WireRequest(
          method, try admitted(url, method, policy), headers: headers,
          body: body.map { .bytes($0) } ?? .none), transport)
      if (200..<300).contains(head.status) { return }
      // A body goes to whom it was written for.
      guard method == "GET", (300..<400).contains(head.status), let place = head.headers["location"],
        let next = url.resolving(place)
      else { throw Self.failure(head) }
      if next.origin != url.origin { headers = HeaderList() }
      url = next
      body = nil
    }
    throw Failure(.protocolViolation, "more than \(policy.redirects) redirects", class: .permanent)
  }

  private func content(
    of notice: OwedNotice
  ) async throws -> (url: WebURL, method: String, headers: HeaderList, body: [UInt8]?) {
    var list = HeaderList()
    list.append("Idempotency-Key", notice.key)
    list.append("X-Haul-Event", notice.event.rawValue)
    switch notice.message {
    case .command: throw Failure(.internal, "a command is no request")
    case .ping(let address, let path):
      var url = try await url(address)
      let base =
        url.path.utf8.last == UInt8(ascii: "/") && !path.isEmpty ? String(url.path.dropLast()) : url.path
      url.path = base + path
      return (url, "GET", list, nil)
    case .webhook(let address, let body, let headers, let sign):
      let bytes = Array(body.utf8)
      var own = [HeaderSetting(name: "Content-Type", value: .text("application/json"))]
      own = HeaderSetting.overlay(headers, over: own)
      for header in own {
        switch header.value {
        case .text(let text): list.append(header.name, Self.line(text))
        case .secret(let reference):
          list.append(header.name, Self.line(try await secrets.resolve(reference).reveal()))
        }
      }
      if let sign {
        let key = Array(try await secrets.resolve(sign).reveal().utf8)
        list.append("X-Haul-Signature", Hex.encode(try HMAC.sha256(bytes, key: key)))
      }
      return (try await url(address), "POST", list, bytes)
    }
  }

  private func url(_ address: TextOrSecret) async throws -> WebURL {
    let text: String
    switch address {
    case .text(let plain): text = plain
    case .secret(let reference): text = try await secrets.resolve(reference).reveal()
    }
    guard let url = WebURL(text) else {
      throw Failure(.protocolViolation, "its URL is not an absolute http or https URL", class: .permanent)
    }
    return url
  }

  private func admitted(_ url: WebURL, _ method: String, _ policy: EffectivePolicy) throws -> AdmittedURL {
    do throws(Failure) { return try AdmittedURL(url, for: method, policy: policy) } catch {
      throw Self.shown(error, url)
    }
  }

  private func answer(_ request: WireRequest, _ transport: CurlTransport) async throws -> ResponseHead {
    let sink = HeadWriter()
    do { try await transport.send(request, sink: sink) } catch let error as TransportError {
      throw Self.shown(error.failure, request.url)
    } catch let failure as Failure {
      throw Self.shown(failure, request.url)
    } catch is HeadWriter.Enough {}
    guard let head = sink.answer else { throw Failure(.networkUnreachable, "no answer came") }
    return head
  }

  /// A path may be as secret as a query.
  private static func shown(_ failure: Failure, _ url: WebURL) -> Failure {
    var failure = failure
    for text in [url.description, url.text] {
      failure.message = failure.message.replacing(text, with: NoticeMessage.masked(url.text))
    }
    return failure
  }

  private static func failure(_ head: ResponseHead) -> Failure {
    let isPassing = [408, 425, 429].contains(head.status) || head.status >= 500
    return Failure(
      isPassing ? .serverError : .protocolViolation, "the receiver answered HTTP \(head.status)",
      class: isPassing ? .transient : .permanent, httpStatus: head.status,
      retryAfter: HTTPFailure.retryAfter(head.headers, now: SystemClock.now))
  }

  private static func line(_ text: String) -> String {
    HeaderSetting.isSafe(value: text)
      ? text
      : String(
        String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
  }
}

/// Ends a request at the head of its answer: the body says nothing, and may never end. Used on the transport's executor
/// alone until it is read.
private final class HeadWriter: BodyWriter, @unchecked Sendable {
  private(set) var answer: ResponseHead?

  func head(_ head: ResponseHead) throws {
    answer = head
    throw Enough()
  }

  func body(_ bytes: UnsafeRawBufferPointer) {}

  struct Enough: Error {}
}
