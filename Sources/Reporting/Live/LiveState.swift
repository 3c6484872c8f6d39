package import JobLedger
package import JobModel
package import Transfers

/// One transfer in flight as a frame shows it.
package struct LiveLine: Sendable, Hashable {
  package var id: String
  /// Bytes that are there.
  package var done: Int64
  package var size: Int64?
  /// Bytes a second.
  package var rate: Double?
  package var retries: Int
  /// Seconds for which it has been in flight; nil where that is not known.
  package var age: Double?

  package init(id: String, done: Int64, size: Int64?, rate: Double?, retries: Int) {
    self.id = id
    self.done = done
    self.size = size
    self.rate = rate
    self.retries = retries
  }

  /// Seconds; nil where nobody can tell.
  var timeLeft: Double? {
    guard let size, let rate, rate >= 1 else { return nil }
    return Double(max(0, size - done)) / rate
  }
}

/// Everything that a frame of the live view shows.
package struct LiveState: Sendable, Hashable {
  package var running: [LiveLine]
  package var standing: PlanStanding
  /// Body bytes a second, of all transfers.
  package var rate: Double?
  /// What holds transfers back, by policy or server.
  package var holds: [String: Hold]
  /// What `haul limit` says.
  package var limit: Bandwidth?
  /// Servers that are not asked as freely as the policies let, with the event's word.
  package var hosts: [String: String] = [:]
  /// Requests at a time that `connections: auto` has come to, by host.
  package var concurrency: [String: Int] = [:]
  /// What failed so far, by cause, the most frequent first.
  package var causes: [CauseTally.Group] = []
  /// Seconds since the view began.
  package var elapsed: Double?
  /// Transfers that were done by then.
  package var doneBefore = 0

  package init(
    running: [LiveLine], standing: PlanStanding, rate: Double?, holds: [String: Hold] = [:],
    limit: Bandwidth? = nil
  ) {
    self.holds = holds
    self.limit = limit
    self.running = running
    self.standing = standing
    self.rate = rate
  }

  var done: Int64 { running.reduce(standing.doneBytes) { $0.adding(clamping: $1.done) } }

  var retries: Int { standing.retries }

  /// Of the bytes where all sizes are known, else of the transfers; nil where nothing is known.
  var share: Double? {
    if standing.unknownSizes == 0, standing.plannedBytes > 0 {
      return min(1, Double(done) / Double(standing.plannedBytes))
    }
    return finished > 0 ? Double(finished) / Double(standing.counts.total) : nil
  }

  /// Seconds, by bytes where all sizes are known, else by transfers; nil where nobody can tell, as of what waits for a clock.
  var timeLeft: Double? {
    guard standing.counts.queued > 0 || !running.isEmpty else { return nil }
    if standing.unknownSizes == 0, standing.plannedBytes > 0 {
      guard let rate, rate >= 1 else { return nil }
      return Double(max(0, standing.plannedBytes - done)) / rate
    }
    let ended = finished - doneBefore
    guard let elapsed, elapsed >= 1, ended >= 10 else { return nil }
    return elapsed * Double(max(0, standing.counts.total - finished)) / Double(ended)
  }

  private var finished: Int {
    standing.counts.completed + standing.counts.upToDate + standing.counts.failed + standing.counts.skipped
      + standing.counts.canceled
  }
}
