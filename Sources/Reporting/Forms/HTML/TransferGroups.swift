import JobModel

/// What transfers of one host, or under one policy, came to; groups beyond a limit are counted together.
struct TransferGroups {
  struct Group {
    var transfers = 0
    var done = 0
    var failed = 0
    var waiting = 0
    var bytes: Int64 = 0
    var retries: Int64 = 0
    /// Seconds of work.
    var seconds = 0.0
  }

  private static let limit = 50
  static let others = "others"
  private var groups: [String: Group] = [:]

  mutating func add(_ name: String, _ transfer: JSON) {
    let name = groups[name] != nil || groups.count < Self.limit ? name : Self.others
    var group = groups[name] ?? Group()
    group.transfers += 1
    switch transfer["state"].string {
    case "completed", "up_to_date": group.done += 1
    case "failed": group.failed += 1
    case "paused", "queued", "running": group.waiting += 1
    default: break
    }
    group.bytes = group.bytes.adding(clamping: transfer["bytes"]["transferred"].int64 ?? 0)
    group.retries = group.retries.adding(clamping: transfer["retries"].int64 ?? 0)
    group.seconds += transfer["duration_s"].double ?? 0
    groups[name] = group
  }

  /// The largest first.
  var rows: [(name: String, group: Group)] {
    groups.sorted { ($0.value.transfers, $1.key) > ($1.value.transfers, $0.key) }.map { ($0.key, $0.value) }
  }
}
