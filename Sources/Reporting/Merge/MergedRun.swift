import JobModel

/// `run` of several parts as of one run: from the first start to the last end, with the attempts of all.
struct MergedRun {
  private struct Attempt {
    var startedAt: Double
    var shard: Int
    var json: JSON
  }

  private var id: String?
  private var (number, attempt): (Int64, Int64) = (1, 1)
  private var started: Double?
  private var ended: Double?
  private var goesOn = false
  private var hosts: Set<String> = []
  private var attempts: [Attempt] = []
  private var pauses: [Attempt] = []
  private var failed = false
  /// Work that the next run of a part goes on with, or tries again.
  private var isWorkLeft = false
  /// A prefix that may not be listed.
  private var lacksInput = false

  /// What a schema lets a report have.
  private static let pausesKept = 300

  mutating func add(_ run: JSON, _ shard: Shard) {
    if let other = run["id"].string, id.map({ other < $0 }) ?? true { id = other }
    number = max(number, run["number"].int64 ?? 1)
    attempt = max(attempt, run["attempt"].int64 ?? 1)
    let (start, end) = (Self.time(run["started_at"]), Self.time(run["ended_at"]))
    if let start { started = min(start, started ?? start) }
    if let end { ended = max(end, ended ?? end) } else { goesOn = true }
    if let host = run["host"].string { hosts.insert(host) }
    for one in run["attempts"].array ?? [] {
      attempts.append(Self.dated(one, shard, .init("shard", .int(shard.index))))
    }
    for one in run["pauses"].array ?? [] { pauses.append(Self.dated(one, shard, nil)) }
    switch run["exit_code"].int64.map({ Int32(clamping: $0) }).flatMap(ExitStatus.init(rawValue:)) {
    case .success?: break
    case .failed?: failed = true
    case .failedWithWorkLeft?: (failed, isWorkLeft) = (true, true)
    case .noInput?: lacksInput = true
    default: isWorkLeft = true
    }
  }

  /// How a run of these ends, by the table of exit codes.
  ///
  /// - Parameter isMissing: some parts are not among them.
  func end(_ totals: MergedTotals, isMissing: Bool) -> (outcome: RunOutcome?, status: ExitStatus) {
    let isLeft = isWorkLeft || isMissing
    if failed { return (.failed, isLeft ? .failedWithWorkLeft : .failed) }
    if isLeft { return (.incomplete, .incomplete) }
    if lacksInput { return (.failed, .noInput) }
    let isCanceled = totals["canceled"] > 0 && totals["canceled"] == totals["transfers"]
    return (isCanceled ? .canceled : .completed, .success)
  }

  func json(_ end: (outcome: RunOutcome?, status: ExitStatus), shards: JSON) -> JSON {
    let end = goesOn ? nil : end as (outcome: RunOutcome?, status: ExitStatus)?
    let last = goesOn ? nil : ended
    let duration = started.flatMap { start in last.map { max(0, $0 - start) } }
    return [
      "id": .text(id), "number": .integer(number), "attempt": .integer(attempt),
      "started_at": CommonJSON.time(started), "ended_at": CommonJSON.time(last),
      "duration_s": .double(duration), "outcome": .text(end?.outcome?.rawValue),
      "exit_code": .int(end.map { Int($0.status.rawValue) }),
      "host": .text(hosts.count == 1 ? hosts.first : nil), "shard": .null, "shards": shards,
      "attempts": .array(Self.sorted(attempts)),
      "pauses": .array(Array(Self.sorted(pauses).prefix(Self.pausesKept))),
    ]
  }

  var endedAt: Double? { goesOn ? nil : ended }

  private static func dated(_ value: JSON, _ shard: Shard, _ extra: JSON.Member?) -> Attempt {
    let members = (value.members ?? []) + [extra].compactMap(\.self)
    return Attempt(startedAt: time(value["started_at"]) ?? 0, shard: shard.index, json: .object(members))
  }

  private static func sorted(_ attempts: [Attempt]) -> [JSON] {
    attempts.sorted { ($0.startedAt, $0.shard) < ($1.startedAt, $1.shard) }.map(\.json)
  }

  private static func time(_ value: JSON) -> Double? { value.string.flatMap(Timestamp.seconds) }
}
