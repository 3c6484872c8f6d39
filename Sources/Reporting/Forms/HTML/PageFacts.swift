import JobModel

/// What a page tells of a run's transfers, gathered in one pass in memory that does not grow with the plan.
struct PageFacts {
  var timeline: RunTimeline?
  var sizes = Histogram(
    (0...8).map { Double(1 << 10) * Double(sign: .plus, exponent: 4 * $0, significand: 1) })
  var durations = Histogram([0.1, 0.3, 1, 3, 10, 30, 60, 300, 1800, 7200])
  var slowest = TopList()
  var mostRetried = TopList()
  var hosts = TransferGroups()
  var policies = TransferGroups()
  var evidence = Evidence()
  /// Transfers that are not done, by state and reason.
  var waiting: [TransferState: Int] = [:]
  /// Transfers that were moved, by the reason.
  var moved: [String: Int] = [:]
  var attention = TransferRows(limit: 1000, bytes: 1_500_000)
  var others = TransferRows(limit: 1000, bytes: 1_000_000)

  init(_ run: JSON, now: Double) { timeline = RunTimeline(run, now: now) }

  mutating func add(_ transfer: JSON) {
    evidence.add(transfer)
    timeline?.add(transfer)
    if let size = transfer["size"].double { sizes.add(size) }
    let seconds = transfer["duration_s"].double ?? 0
    if (transfer["attempts"].int64 ?? 0) > 0 { durations.add(seconds) }
    slowest.add(transfer, seconds)
    mostRetried.add(transfer, transfer["retries"].double ?? 0)
    hosts.add(transfer["url"].string.flatMap(URLHost.of) ?? "none", transfer)
    policies.add(transfer["policy"]["name"].string ?? transfer["policy"]["ref"].string ?? "none", transfer)
    let state = transfer["state"].string ?? ""
    if state == "completed", let reason = transfer["moved_because"].string { moved[reason, default: 0] += 1 }
    guard !["completed", "up_to_date"].contains(state) else { return others.add(transfer) }
    attention.add(transfer)
    let reason = Cause.group(of: transfer["reason"].string)
    if transfer["error"] == .null, let state = TransferState(word: state, reason: reason) {
      waiting[state, default: 0] += 1
    }
  }
}
