import JobModel

/// A report in words where nothing but its members is at hand: a merged one, or that of an older run.
struct MembersText {
  private let members: JSON
  private let path: String?
  private let paint: Paint

  /// - Parameter path: where the whole report lies.
  init(_ members: [JSON.Member], at path: String? = nil, isColoured: Bool) {
    self.members = .object(members)
    self.path = path
    paint = Paint(isOn: isColoured)
  }

  var text: String {
    let (run, totals) = (members["run"], members["totals"])
    let name = DisplayText.safe(members["job"]["name"].string ?? "job")
    let shard = run["shard"]["index"].int64.map { ", shard \($0)/\(run["shard"]["count"].int64 ?? 0)" } ?? ""
    let duration = run["duration_s"].double.map { ", " + Figures.duration($0) } ?? ""
    var lines = [
      "\(paint.bold(name + shard)): \(outcome(run)) (\(which(run))\(duration))", "  " + states(totals),
    ]
    let bytes = totals["bytes"]
    var moved = Figures.bytes(bytes["transferred"].int64 ?? 0) + " transferred"
    for (kind, word) in [("reused", "reused"), ("discarded", "discarded")] {
      if let count = bytes[kind].int64, count > 0 { moved += ", \(Figures.bytes(count)) \(word)" }
    }
    lines.append("  \(moved); \(Figures.count(Int(clamping: totals["requests"].int64 ?? 0), "request"))")
    let times = [run["started_at"], run["ended_at"]].compactMap(\.string).joined(separator: " to ")
    let code = run["exit_code"].int64.map(String.init) ?? "unknown"
    lines.append("  \(DisplayText.safe(times)), exit code \(code)")
    if let path { lines.append("  report \(DisplayText.safe(path))") }
    for cause in members["causes"].array ?? [] {
      lines.append("  " + words(cause))
      if let code = cause["code"].string.flatMap(ErrorCode.init(rawValue:)) {
        lines.append("    hint: " + code.hint)
      }
    }
    for diagnostic in members["diagnostics"].array ?? [] {
      let message = DisplayText.safe(diagnostic["message"].string ?? "")
      lines.append("  \(diagnostic["severity"].string ?? "note"): \(message)")
      if let hint = diagnostic["hint"].string { lines.append("    hint: " + DisplayText.safe(hint)) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func which(_ run: JSON) -> String {
    if let merged = run["shards"]["merged"].int64 {
      return "\(merged) of \(run["shards"]["count"].int64 ?? 0) shards"
    }
    let attempt = run["attempt"].int64 ?? 1
    return "run \(run["number"].int64 ?? 0)" + (attempt > 1 ? ", attempt \(attempt)" : "")
  }

  private func outcome(_ run: JSON) -> String {
    switch run["outcome"].string {
    case "completed": paint.green("completed")
    case "failed": paint.red("failed")
    case "incomplete": paint.yellow("incomplete")
    case let other: other ?? "running"
    }
  }

  private func states(_ totals: JSON) -> String {
    let states = [
      "completed", "up_to_date", "running", "queued", "paused", "failed", "skipped", "canceled",
    ].compactMap { state -> String? in
      guard let count = totals[state].int64, count > 0 else { return nil }
      return "\(count) \(state.replacing("_", with: " "))"
    }
    let total = Figures.count(Int(clamping: totals["transfers"].int64 ?? 0), "transfer")
    return states.isEmpty ? total : total + ": " + states.joined(separator: ", ")
  }

  /// `NOT_FOUND at host: message (3: a, b, c)`
  private func words(_ cause: JSON) -> String {
    let host = cause["host"].string.map { " at " + $0 } ?? ""
    let (count, ids) = (Int(clamping: cause["count"].int64 ?? 0), cause["ids"].strings ?? [])
    return DisplayText.safe(
      "\(cause["code"].string ?? "")\(host): \(cause["message"].string ?? "") (\(CauseTally.names(ids, of: count)))"
    )
  }
}
