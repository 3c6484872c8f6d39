import Admission
import JobModel
import Locks
import Posix
import Transfers

/// Notes when a run stands still and why, from what its engine tells.
final class PauseLog: Sendable {
  private struct State {
    var pauses: RunPauses
    var hasNews = false
  }
  private let state: Locked<State>

  /// - Parameter pauses: of the run's earlier attempts.
  init(_ pauses: RunPauses) { state = Locked(State(pauses: pauses, hasNews: true)) }

  func record(_ event: EngineEvent) {
    let now = SystemClock.now
    switch event {
    case .held(let subject, let hold):
      change { pauses in
        // A policy has one hold at a time.
        pauses.end(at: now) { $0.subject == subject && Self.isOfPolicy($0.reason) }
        pauses.begin(.init(hold.reason), of: subject, at: now)
      }
    case .released(let subject, let reason): change { $0.end(.init(reason), of: subject, at: now) }
    case .host(let news): change { Self.note(news, &$0, now) }
    case .state(_, _, .paused(.disk), _, _): change { $0.begin(.disk, of: nil, at: now) }
    case .state, .chunk, .retry, .checked, .diagnostic, .bandwidth: break
    }
  }

  /// - Parameter isPaused: whether a user keeps transfers of the job paused.
  func note(userPauses isPaused: Bool) {
    let now = SystemClock.now
    change { isPaused ? $0.begin(.user, of: nil, at: now) : $0.end(.user, of: nil, at: now) }
  }

  /// What is to be recorded since the last call; nil where that is nothing.
  func takeNews() -> [RunPause]? {
    state.withLock { state in
      defer { state.hasNews = false }
      return state.hasNews ? state.pauses.all : nil
    }
  }

  /// All pauses at the attempt's end.
  ///
  /// - Parameters:
  ///   - reasons: why the run stops until its next attempt.
  ///   - isOver: there is none.
  func end(_ reasons: [RunPause.Reason], isOver: Bool) -> [RunPause] {
    let now = SystemClock.now
    return state.withLock { state in
      let open = Set(state.pauses.all.filter { $0.endedAt == nil }.map(\.reason))
      if isOver {
        state.pauses.end(at: now)
      } else {
        for reason in reasons where !open.contains(reason) { state.pauses.begin(reason, of: nil, at: now) }
      }
      return state.pauses.all
    }
  }

  private func change(_ body: (inout RunPauses) -> Void) {
    state.withLock { state in
      let before = state.pauses
      body(&state.pauses)
      if state.pauses != before { state.hasNews = true }
    }
  }

  private static func note(_ news: HostNews, _ pauses: inout RunPauses, _ now: Double) {
    switch news.change {
    case .slowed:
      guard let rest = news.change.rest else { return }
      pauses.add(RunPause(.cooldown, of: news.host, from: now, to: now + rest))
    case .opened, .givenUp: pauses.begin(.breaker, of: news.host, at: now)
    case .noNetwork: pauses.begin(.network, of: news.host, at: now)
    case .closed, .recovered, .networkBack:
      pauses.end(.breaker, of: news.host, at: now)
      pauses.end(.network, of: news.host, at: now)
    case .sized, .probing: break
    }
  }

  private static func isOfPolicy(_ reason: RunPause.Reason) -> Bool {
    switch reason {
    case .window, .deadline, .budget, .interface, .metered: true
    case .disk, .user, .interrupted, .cooldown, .breaker, .network: false
    }
  }
}
