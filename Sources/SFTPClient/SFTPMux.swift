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
    /// Seconds without a byte from the server.
    var limit: Double
  }
  private struct State: Sendable {
    var frames = SFTPFrames()
    var waiters: [UInt32: Waiter] = [:]
    var lastID: UInt32 = 0
    var lastHeard = SystemClock.uptime
    /// Why nothing more is asked.
    var ended: Failure?
  }
  private let state = Locked(State())
  /// The server's first packet.
  let version = SFTPAnswer()
  /// For messages.
  private let place: String

  init(_ place: String) { self.place = place }

  /// Why nothing more can be asked; nil while the connection is there.
  var failure: Failure? { state.withLock { $0.ended } }

  /// Enters a request.
  ///
  /// - Returns: its id, and what its answer will be.
  func enter(limit: Double) throws(Failure) -> (id: UInt32, SFTPAnswer) {
    let answer = SFTPAnswer()
    let entry: Result<UInt32, Failure> = state.withLock { state in
      if let failure = state.ended { return .failure(failure) }
      repeat { state.lastID &+= 1 } while state.waiters[state.lastID] != nil
      state.waiters[state.lastID] = Waiter(answer: answer, since: SystemClock.uptime, limit: limit)
      return .success(state.lastID)
    }
    return (try entry.get(), answer)
  }

  func received(_ bytes: UnsafeRawBufferPointer) {
    enum Step { case none, answer(SFTPAnswer, SFTPReply), broken(String) }
    state.withLock { state in
      state.lastHeard = SystemClock.uptime
      state.frames.append(bytes)
    }
    while true {
      let step: Step = state.withLock { state in
        guard state.ended == nil else { return .none }
        do throws(SFTPFrameFault) {
          guard let packet = try state.frames.next() else { return .none }
          guard let (id, reply) = SFTPReply.read(packet) else {
            return .broken("sent a packet that is no answer")
          }
          guard let id else { return .answer(version, reply) }
          guard let waiter = state.waiters.removeValue(forKey: id) else {
            return .broken("answered what was not asked")
          }
          return .answer(waiter.answer, reply)
        } catch {
          return .broken("sent a packet of \(error.length) bytes")
        }
      }
      switch step {
      case .none: return
      case .answer(let answer, let reply): answer.tell(.success(reply))
      case .broken(let what): return end(Failure(.protocolViolation, "\(place): the server \(what)"))
      }
    }
  }

  func tick() {
    let now = SystemClock.uptime
    let late: [Waiter] = state.withLock { state in
      var late: [Waiter] = []
      for (id, waiter) in state.waiters where now - max(waiter.since, state.lastHeard) > waiter.limit {
        late.append(waiter)
        // Its answer may still come.
        state.waiters[id]?.limit = .infinity
      }
      return late
    }
    guard let limit = late.map(\.limit).max() else { return }
    let failure = Failure(.timeout, "\(place): no answer within \(Self.seconds(limit))")
    for waiter in late { waiter.answer.tell(.failure(failure)) }
    // Who only cleans up waits for seconds: that says little of a connection that others use.
    if limit >= Self.patience { end(failure) }
  }

  /// Seconds of silence after which a connection is given up.
  private static let patience = 10.0

  private static func seconds(_ limit: Double) -> String { "\(Int(clamping: limit.rounded(.up))) s" }

  func ended(_ fault: any Error) { end(SSHFailure.of(fault, at: place)) }

  private func end(_ failure: Failure) {
    let waiters = state.withLock { state in
      if state.ended == nil { state.ended = failure }
      defer { state.waiters = [:] }
      return state.waiters.values.map(\.answer)
    }
    for answer in waiters + [version] { answer.tell(.failure(failure)) }
  }
}
