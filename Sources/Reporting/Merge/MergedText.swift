import JobModel

/// A merged report in words.
struct MergedText {
  private let members: JSON
  private let paint: Paint

  init(_ members: [JSON.Member], isColoured: Bool) {
    self.members = .object(members)
    paint = Paint(isOn: isColoured)
  }

  var text: String {
    let (run, totals) = (members["run"], members["totals"])
    let name = DisplayText.safe(members["job"]["name"].string ?? "job")
    let shards = run["shards"]
    let merged = "\(shards["merged"].int64 ?? 0) of \(shards["count"].int64 ?? 0) shards"
    let duration = run["duration_s"].double.map { ", " + Figures.duration($0) } ?? ""
    var lines = ["\(paint.bold(name)): \(outcome(run)) (\(merged)\(duration))", "  " + states(totals)]
    let bytes = totals["bytes"]
    var moved = Figures.bytes(bytes["transferred"].int64 ?? 0) + " transferred"
    for (kind, word) in [("reused", "reused"), ("discarded", "discarded")] {
      if let count = bytes[kind].int64, count > 0 { moved += ", \(Figures.bytes(count)) \(word)" }
    }
    lines.append("  \(moved); \(Figures.count(Int(clamping: totals["requests"].int64 ?? 0), "request"))")
    for cause in members["causes"].array ?? [] { lines.append("  " + words(cause)) }
    for diagnostic in members["diagnostics"].array ?? [] {
      let message = DisplayText.safe(diagnostic["message"].string ?? "")
      lines.append("  \(diagnostic["severity"].string ?? "note"): \(message)")
    }
    return lines.joined(separator: "\n") + "\n"
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
