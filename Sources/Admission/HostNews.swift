package import JobModel

/// What became known about a host.
package struct HostNews: Sendable, Hashable {
  package enum Change: Sendable, Hashable {
    /// Fewer requests at a time, and none for so many seconds.
    case slowed(window: Int, rest: Double, status: Int)
    /// The policy's limits count again.
    case recovered
    /// As many requests at a time are sent under `connections: auto` from now on.
    case sized(Int)
    /// So many failures in a row, the last one with this status or without an answer: nothing is sent for so many seconds.
    case opened(Int, rest: Double, status: Int? = nil)
    case probing
    case closed
    /// So many failures in a row: its transfers are not tried any more, but for one now and then.
    case givenUp(Int, status: Int? = nil)
    /// This machine has no network: nothing is sent until it has one.
    case noNetwork
    case networkBack
  }
  /// Scheme, host and port.
  package var host: String
  package var change: Change
  /// What the next run is to know of the host; nil where nothing.
  package var record: HostRecord?
}

extension HostNews.Change {
  package var word: String {
    switch self {
    case .slowed: "slowed"
    case .recovered: "recovered"
    case .sized: "sized"
    case .opened: "opened"
    case .probing: "probing"
    case .closed: "closed"
    case .givenUp: "given_up"
    case .noNetwork: "no_network"
    case .networkBack: "network_back"
    }
  }

  /// Seconds for which nothing is sent; nil where no time is set.
  package var rest: Double? {
    switch self {
    case .slowed(_, let rest, _): rest > 0 ? rest : nil
    case .opened(_, let rest, _): rest
    case .recovered, .sized, .probing, .closed, .givenUp, .noNetwork, .networkBack: nil
    }
  }

  package var reason: String {
    switch self {
    case .slowed(let window, let rest, let status):
      "HTTP \(status): \(window) request\(window == 1 ? "" : "s") at a time"
        + (rest > 0 ? ", none for \(Self.seconds(rest)) s" : "")
    case .recovered: "answers well: the policy's limits count again"
    case .sized(let size): "\(size) request\(size == 1 ? "" : "s") at a time"
    case .opened(let count, let rest, let status):
      "\(Self.failures(count, status)): nothing is sent for \(Self.seconds(rest)) s"
    case .probing: "one request finds out whether it answers again"
    case .closed: "answers again"
    case .givenUp(let count, let status):
      "\(Self.failures(count, status)): its transfers wait for the next attempt"
    case .noNetwork: "can't be reached, and this machine has no network: its transfers wait for one"
    case .networkBack: "this machine has a network again"
    }
  }

  private static func failures(_ count: Int, _ status: Int?) -> String {
    let last = status.map { "HTTP \($0)" } ?? "no answer"
    return count == 1 ? "a request got \(last)" : "\(count) requests in a row failed, the last got \(last)"
  }

  /// Without Foundation: tenths are enough.
  private static func seconds(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
