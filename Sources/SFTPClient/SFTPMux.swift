import Endpoints
import JobModel
import Locks
import Posix
import SSH

/// Brings answers to those who wait for them: requests of many transfers are under way on one connection.
final class SFTPMux: SSHReceiver {
  private struct Waiter: Sendable {
    let answer: SFTPAnswer
    let since: Double
    /// Seconds of silence.
    let limit: Double
    /// That it has in the window.
    var bytes = 0
    /// Was told so; the answer may still come.
    var isLate = false
  }
  private struct State: Sendable {
    var frames = SFTPFrames()
    var waiters: [UInt32: Waiter] = [:]
    var lastID: UInt32 = 0
    /// When the server last sent a whole packet, or bytes enough.
    var lastHeard: Double
    /// Bytes since the last tick.
    var heard = 0
    /// When the newest was asked of those requests that are answered.
    var newestAnswered = 0.0
    /// Why nothing more is asked.
    var ended: Failure?
  }
  private let state: Locked<State>
  /// The server's first packet.
  let version = SFTPAnswer()
  /// For messages.
  private let place: String
  private let now: @Sendable () -> Double

  /// What the writes of the connection wait for.
  let window: SendWindow

  /// The id under which `version` is waited for: no request has it.
  private static let versionID: UInt32 = 0
  /// As with HTTP, less in a second is a stall.
  private static let leastHeard = 1024

  /// - Parameters:
  ///   - window: bytes of writes that may be under way.
  ///   - now: seconds that only grow.
  init(
    _ place: String, window: Int = Int(SFTPConnection.window),
    now: @escaping @Sendable () -> Double = { SystemClock.uptime }
  ) {
    (self.place, self.window, self.now) = (place, SendWindow(most: window), now)
    state = Locked(State(lastHeard: now()))
  }

  /// Why nothing more can be asked; nil while the connection is there.
  var failure: Failure? { state.withLock { $0.ended } }

  /// Seconds for which requests have waited and nothing has come.
  var silence: Double {
    state.withLock { state in
      state.waiters.values.map(\.since).min().map { now() - max($0, state.lastHeard) } ?? 0
    }
  }

  /// From now on `version` is waited for.
  func begin(limit: Double) {
    state.withLock {
      $0.waiters[Self.versionID] = Waiter(answer: version, since: now(), limit: limit)
    }
  }

  /// Enters a request.
  ///
  /// - Parameter bytes: that it has in the window, until it is answered.
  /// - Returns: its id, and what its answer will be.
  func enter(limit: Double, bytes: Int = 0) throws(Failure) -> (id: UInt32, SFTPAnswer) {
    let answer = SFTPAnswer()
    let entry: Result<UInt32, Failure> = state.withLock { state in
      if let failure = state.ended { return .failure(failure) }
      repeat { state.lastID &+= 1 } while state.lastID == Self.versionID || state.waiters[state.lastID] != nil
      state.waiters[state.lastID] = Waiter(answer: answer, since: now(), limit: limit, bytes: bytes)
      return .success(state.lastID)
    }
    return (try entry.get(), answer)
  }

  func received(_ bytes: UnsafeRawBufferPointer) throws {
    enum Step { case none, answer(SFTPAnswer, SFTPReply, bytes: Int), broken(String) }
    try throwIfEnded()
    state.withLock { state in
      state.heard += bytes.count
      state.frames.append(bytes)
    }
    while true {
      let step: Step = state.withLock { state in
        guard state.ended == nil else { return .none }
        do throws(SFTPFrameFault) {
          guard let packet = try state.frames.next() else { return .none }
          state.lastHeard = now()
          guard let (id, reply) = SFTPReply.read(packet) else {
            return .broken("sent a packet that is no answer")
          }
          let waiter = state.waiters.removeValue(forKey: id ?? Self.versionID)
          guard id != nil else { return .answer(version, reply, bytes: 0) }
          guard let waiter else {
            return .broken("answered what was not asked")
          }
          state.newestAnswered = max(state.newestAnswered, waiter.since)
          return .answer(waiter.answer, reply, bytes: waiter.bytes)
        } catch {
          guard let text = error.text else { return .broken("sent a packet of \(error.length) bytes") }
          return .broken(
            "sent a text that begins with `\(text)` in place of SFTP: let the user in for SFTP, and let no start-up file of the shell write anything"
          )
        }
      }
      switch step {
      case .none: return
      case .answer(let answer, let reply, let bytes):
        if bytes > 0 { window.leave(bytes) }
        answer.tell(.success(reply))
      case .broken(let what):
        end(Failure(.protocolViolation, "\(place): the server \(what)"))
        try throwIfEnded()
      }
    }
  }

  /// What still comes then is not kept: the connection is closed.
  private func throwIfEnded() throws { if let failure { throw failure } }

  func tick() throws {
    let time = now()
    let (late, isGivenUp): ([Waiter], Bool) = state.withLock { state in
      if state.heard >= Self.leastHeard { state.lastHeard = time }
      state.heard = 0
      // Who only cleans up waits for seconds, and a server may be at work for who waits longest: others are told, and keep it.
      let longest = state.waiters.values.reduce(Self.patience) { max($0, $1.limit) }
      var (late, isGivenUp) = ([Waiter](), false)
      for (id, waiter) in state.waiters {
        let silence = time - max(waiter.since, state.lastHeard)
        if silence > longest { isGivenUp = true }
        // Others' answers are no silence, but of those that were asked so much later none comes first, where all is well.
        guard !waiter.isLate, max(silence, state.newestAnswered - waiter.since) > waiter.limit else {
          continue
        }
        late.append(waiter)
        state.waiters[id]?.isLate = true
      }
      return (late, isGivenUp)
    }
    if isGivenUp || !late.isEmpty {
      let limit = late.map(\.limit).max() ?? Self.patience
      let failure = Failure(.timeout, "\(place): no answer within \(Self.seconds(limit))")
      for waiter in late { waiter.answer.tell(.failure(failure)) }
      if isGivenUp { end(failure) }
    }
    try throwIfEnded()
  }

  /// The fewest seconds of silence after which a connection is given up.
  private static let patience = 10.0

  private static func seconds(_ limit: Double) -> String { "\(Int(clamping: limit.rounded(.up))) s" }

  func ended(_ fault: any Error) { end(SSHFailure.of(fault, at: place)) }

  private func end(_ failure: Failure) {
    let waiters = state.withLock { state in
      if state.ended == nil { state.ended = failure }
      defer { state.waiters = [:] }
      return state.waiters.values.map(\.answer)
    }
    window.end()
    for answer in waiters + [version] { answer.tell(.failure(failure)) }
  }
}
