import CCurl
import Posix

/// A libcurl multi handle, the requests that run in it and those that wait for a connection slot.
/// Used on its network thread only, but for `wake`.
final class Multi {
  /// Between looks at the time limits of requests, in seconds.
  private static let tickInterval = 0.25

  private let pointer: UnsafeMutableRawPointer
  private let limits: ConnectionLimits
  private var live: [CurlRequestID: Exchange] = [:]
  // libcurl's own queue would let a request's connect timeout run while it waits.
  private var waiting: [Exchange] = []
  private var perOrigin: [String: Int] = [:]
  /// How connections to a peer are made; nil where requests disagree.
  private var ways: [String: CurlOptions.Way?] = [:]
  private let sockets = Sockets()
  private var resumed: Set<CurlRequestID> = []
  private var nextTick = 0.0
  private var isClosed = false

  init(_ limits: ConnectionLimits) throws(CurlError) {
    guard CurlGlobal.start == CURLE_OK, let pointer = curl_multi_init() else {
      throw CurlError(CURLE_FAILED_INIT)
    }
    self.pointer = pointer
    self.limits = limits
    haul_curl_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, max(limits.total, 64))
  }

  deinit { curl_multi_cleanup(pointer) }

  /// Ends a poll, or the next one; from any thread.
  func wake() { curl_multi_wakeup(pointer) }

  /// When there is something to do next: at once for what was resumed, else a look at the time limits.
  var deadline: Double? { live.isEmpty ? nil : resumed.isEmpty ? nextTick : 0 }

  func start(_ exchange: Exchange) {
    guard !isClosed else { return exchange.finish(.failure(Self.closed)) }
    let id = exchange.request.id
    guard live[id] == nil, !waiting.contains(where: { $0.request.id == id }) else {
      let text = "the request is already under way"
      return exchange.finish(.failure(CurlError(kind: .badRequest, message: text)))
    }
    if hasSlot(exchange) { begin(exchange) } else { waiting.append(exchange) }
  }

  func cancel(_ id: CurlRequestID) {
    fail(id, CurlError(kind: .cancelled, message: "the request was canceled"))
  }

  /// Takes effect in the next turn: libcurl may call the sink at once, and the caller may be in its way.
  func resume(_ id: CurlRequestID) {
    if live[id] != nil { resumed.insert(id) }
  }

  func fit(_ id: CurlRequestID, _ receiveBuffer: Int?) { live[id]?.fit(receiveBuffer) }

  /// Ends every request, and refuses new ones.
  func close() {
    isClosed = true
    failAll(Self.closed)
  }

  /// Moves what can be moved and ends what is done.
  func turn() {
    unpause()
    var running: Int32 = 0
    let code = curl_multi_perform(pointer, &running)
    if code != CURLM_OK {
      failAll(CurlError(kind: .other, message: String(cString: curl_multi_strerror(code))))
    }
    collect()
    let now = SystemClock.uptime
    if now >= nextTick {
      nextTick = now + Self.tickInterval
      tick(now)
    }
  }

  /// Sleeps until something moves, `wake`, or the time is over.
  func poll(seconds: Double) {
    let milliseconds = Int32(min(max(seconds * 1000, 0), 600_000).rounded(.up))
    curl_multi_poll(pointer, nil, 0, milliseconds, nil)
  }

  private func unpause() {
    guard !resumed.isEmpty else { return }
    let ids = resumed
    resumed = []
    for id in ids {
      guard let exchange = live[id], let easy = exchange.easy, exchange.isPaused else { continue }
      exchange.isPaused = false
      exchange.watch.begin(SystemClock.uptime)
      // A fault in a callback made here comes back as the transfer's own end.
      curl_easy_pause(easy.pointer, CURLPAUSE_CONT)
    }
  }

  private func collect() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(pointer, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
      let code = message.pointee.data.result
      var context: UnsafeMutablePointer<CChar>?
      haul_curl_get_string(handle, CURLINFO_PRIVATE, &context)
      guard let exchange = Exchange.from(context) else { continue }
      end(exchange, exchange.outcome(code))
    }
  }

  private func tick(_ now: Double) {
    for (id, exchange) in live {
      let sent = exchange.easy?.offset(CURLINFO_SIZE_UPLOAD_T) ?? 0
      let fault = exchange.watch.fault(
        now, moved: sent + exchange.bytesReceived, isSending: sent < exchange.bodyLength,
        isPaused: exchange.isPaused, exchange.request.options)
      guard let fault else { continue }
      let text = Self.text(fault, exchange.request.options)
      fail(id, CurlError(kind: .timedOut(fault), message: text, receivedBytes: exchange.receivedBytes))
    }
  }

  private func begin(_ exchange: Exchange) {
    exchange.sockets = sockets
    do throws(CurlError) {
      // Never one that was used: libcurl before 8.1 keeps a pointer to its last header, which is freed, and writes there where
      // an answer's first header line begins with a blank.
      let easy = try EasyHandle()
      exchange.mayShareConnection = mayShare(exchange)
      try exchange.configure(easy, live: live.count + 1)
      let code = curl_multi_add_handle(pointer, easy.pointer)
      guard code == CURLM_OK else {
        throw CurlError(kind: .other, message: String(cString: curl_multi_strerror(code)))
      }
    } catch {
      exchange.easy = nil
      return exchange.finish(.failure(error))
    }
    live[exchange.request.id] = exchange
    perOrigin[exchange.origin, default: 0] += 1
  }

  private func end(_ exchange: Exchange, _ outcome: Exchange.Outcome) {
    guard live.removeValue(forKey: exchange.request.id) != nil, let easy = exchange.easy else { return }
    exchange.source?.settle(sent: exchange.bytesSent)
    curl_multi_remove_handle(pointer, easy.pointer)
    exchange.easy = nil
    let others = (perOrigin[exchange.origin] ?? 1) - 1
    perOrigin[exchange.origin] = others > 0 ? others : nil
    exchange.finish(outcome)
    while let next = waiting.firstIndex(where: hasSlot) { begin(waiting.remove(at: next)) }
  }

  private func fail(_ id: CurlRequestID, _ error: CurlError) {
    if let exchange = live[id] {
      end(exchange, .failure(error))
    } else if let index = waiting.firstIndex(where: { $0.request.id == id }) {
      waiting.remove(at: index).finish(.failure(error))
    }
  }

  private func failAll(_ error: CurlError) {
    let unstarted = waiting
    waiting = []
    for exchange in unstarted { exchange.finish(.failure(error)) }
    for exchange in live.values { end(exchange, .failure(error)) }
  }

  /// Whether all requests to this peer so far were to connect in the same way.
  private func mayShare(_ exchange: Exchange) -> Bool {
    let way = exchange.request.options.way
    guard let known = ways.updateValue(way, forKey: exchange.peer) else { return true }
    if known == way { return true }
    ways.updateValue(nil, forKey: exchange.peer)
    return false
  }

  private func hasSlot(_ exchange: Exchange) -> Bool {
    live.count < limits.total && perOrigin[exchange.origin, default: 0] < limits.perOrigin
  }

  private static let closed = CurlError(kind: .cancelled, message: "the network thread was shut down")

  private static func text(_ phase: CurlError.Phase, _ options: CurlOptions) -> String {
    switch phase {
    case .connect: "no connection within \(options.connectTimeout) s"
    case .firstByte: "no byte of an answer's body within \(options.firstByteTimeout ?? 0) s of the request"
    case .stall: "fewer than \(options.stallBytesPerSecond) bytes/s moved for \(options.stallTimeout ?? 0) s"
    }
  }
}
