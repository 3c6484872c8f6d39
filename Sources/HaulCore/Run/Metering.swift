import Dispatch
import Glibc
import Locks
import Posix

/// NetworkManager's word on whether the connection is metered, asked over D-Bus by busctl(1) now and then.
///
/// The property `Metered` of `org.freedesktop.NetworkManager` (NMMetered: 1 and 3 say yes, 2 and 4 no, 0 unknown).
final class Metering: Sendable {
  /// Seconds for which an answer is waited for: busctl's own limit is of the call, not of the way to the bus.
  private static let patience = 3.0
  /// Between two questions.
  private static let interval = 5.0
  private struct State {
    var word = MeteredWord()
    var next = 0.0
    var isAsking = false
    var hasRemarked = false
  }
  private let state = Locked(State())
  private let remark: @Sendable (String) -> Void

  /// - Parameter remark: told once where nobody knows.
  init(remark: @escaping @Sendable (String) -> Void) {
    self.remark = remark
    // The first answer counts before the first transfer.
    ask()
  }

  /// What was known last; nil where nobody knows. Asks again in the background where that is old.
  var current: Bool? {
    let (value, isDue) = state.withLock { state in
      let isDue = !state.isAsking && SystemClock.uptime >= state.next
      if isDue { state.isAsking = true }
      return (state.word.value, isDue)
    }
    if isDue { DedicatedThread.start { self.ask() } }
    return value
  }

  private func ask() {
    let response = Self.read()
    let isNews = state.withLock { state in
      let now = SystemClock.uptime
      state.word.take(response, at: now)
      state.next = now + Self.interval
      state.isAsking = false
      let isUnknown = state.word.value == nil
      defer { if isUnknown { state.hasRemarked = true } }
      return isUnknown && !state.hasRemarked
    }
    if isNews {
      remark(
        "whether the connection is metered can't be told (no answer from NetworkManager): taken as not metered"
      )
    }
  }

  private static func read() -> Bool? {
    let name = "org.freedesktop.NetworkManager"
    let words = [
      "busctl", "--system", "--timeout=2", "get-property", name, "/org/freedesktop/NetworkManager", name,
      "Metered",
    ]
    guard let process = try? ChildProcess(env: words, showsErrors: false) else { return nil }
    let running = Locked<Int32?>(process.id)
    DispatchQueue.global().asyncAfter(deadline: .now() + patience) {
      running.withLock { if let id = $0 { _ = kill(-id, SIGKILL) } }
    }
    let output = process.readToEnd()
    // Its id may be another's once it is reaped.
    running.withLock { $0 = nil }
    guard process.reap() == 0, let output else { return nil }
    // `u 2`
    switch String(decoding: output, as: UTF8.self).split(whereSeparator: \.isWhitespace).last {
    case "1", "3": return true
    case "2", "4": return false
    default: return nil
    }
  }
}

/// The last answer; one question without an answer does not undo it, as NetworkManager may be starting anew.
struct MeteredWord {
  /// Seconds for which an answer counts without another.
  private static let longest = 300.0
  /// Nil where nobody knows.
  private(set) var value: Bool?
  private var heardAt = 0.0

  /// - Parameter now: seconds that never go back.
  mutating func take(_ answer: Bool?, at now: Double) {
    guard answer != nil || now - heardAt > Self.longest else { return }
    (value, heardAt) = (answer, now)
  }
}
