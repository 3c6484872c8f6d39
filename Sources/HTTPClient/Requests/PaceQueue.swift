import Admission
import JobModel
import Locks
import Posix

/// Holds bodies up as rate limits say, for kinds whose bodies do not pass through libcurl.
final class PaceQueue: Sendable {
  private struct State {
    var line = PaceLine()
    /// Those whose turn has come.
    var due: Set<Int> = []
  }
  private let state = Locked(State())
  private let sleep: @Sendable (Double) async throws -> Void
  /// A rate may be raised while somebody waits at the old one; a budget's next period may begin.
  private static let longestLook = 0.2

  init(sleep: @escaping @Sendable (Double) async throws -> Void) { self.sleep = sleep }

  /// Waits until so many bytes may go.
  nonisolated(nonsending) func wait(_ count: Int, _ direction: Direction, _ throttle: Throttle) async throws {
    while throttle.keepsBytes() { try await sleep(Self.longestLook) }
    let limits = throttle.limits(direction)
    guard throttle.rate(direction) != nil else { return }
    let moment = SystemClock.uptime
    guard let place = state.withLock({ $0.line.ask(count, under: limits, now: moment) }) else { return }
    do {
      while let seconds = look(for: place) { try await sleep(min(max(0.001, seconds), Self.longestLook)) }
    } catch {
      state.withLock { state in
        state.line.leave(place)
        state.due.remove(place)
      }
      throw error
    }
  }

  /// - Returns: seconds until it is worth another look; nil where the turn has come.
  private func look(for place: Int) -> Double? {
    let moment = SystemClock.uptime
    return state.withLock { state in
      state.due.formUnion(state.line.due(now: moment))
      if state.due.remove(place) != nil { return nil }
      return state.line.next(now: moment) ?? Self.longestLook
    }
  }
}
