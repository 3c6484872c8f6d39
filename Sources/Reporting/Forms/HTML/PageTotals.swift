import JobModel

/// How many transfers are in which state, and what was moved.
struct PageTotals {
  let report: JSON
  let facts: PageFacts

  var html: String {
    let totals = report["totals"]
    let all = totals["transfers"].int64 ?? 0
    guard all > 0 else { return "" }
    let states = ["completed", "up_to_date", "failed", "paused", "queued", "running", "skipped", "canceled"]
    let counts = states.map { ($0, totals[$0].int64 ?? 0) }.filter { $0.1 > 0 }
    var start = 0.0
    let parts = counts.map { state, count -> String in
      let width = max(0.4, Double(count) * 100 / Double(all))
      defer { start += width }
      return "<rect class=\"\(Page.tone(state))\" x=\"\(JSON.number(start).text)\" y=\"0\""
        + " width=\"\(JSON.number(width).text)\" height=\"1\"/>"
    }
    let bar =
      "<svg class=\"stack\" viewBox=\"0 0 \(JSON.number(start).text) 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
      + parts.joined() + "</svg>\n"
    let words = counts.map { state, count in "<li>\(Page.state(state)) <b>\(Page.number(count))</b></li>" }
    return
      bar + "<ul class=\"states\">\(words.joined())</ul>\n"
      + "<ul class=\"tiles\">\n\(tiles.map(tile).joined())</ul>\n" + changes
  }

  private var tiles: [(String, String, String)] {
    let bytes = report["totals"]["bytes"]
    func size(_ name: String) -> Int64 { bytes[name].int64 ?? 0 }
    let seconds = Page.secondsAtWork(report["run"])
    let moved = size("transferred")
    let rate = seconds > 0 && moved > 0 ? Figures.rate(Double(moved) / seconds) : ""
    let done = facts.evidence.verified + facts.evidence.unverified
    var tiles = [
      ("Moved", Figures.bytes(moved), rate), ("Already there", Figures.bytes(size("reused")), ""),
      (
        "Proved", Page.number(facts.evidence.verified),
        done > 0 ? "of \(Page.number(done)) complete" : "none complete"
      ),
      ("Retries", Page.number(report["totals"]["retries"].int64 ?? 0), ""),
      ("Requests", Page.number(report["totals"]["requests"].int64 ?? 0), ""),
    ]
    if size("discarded") > 0 { tiles.append(("Discarded", Figures.bytes(size("discarded")), "")) }
    return tiles
  }

  private func tile(_ name: String, _ figure: String, _ more: String) -> String {
    let small = more.isEmpty ? "" : " <small>\(Markup.text(more))</small>"
    return "<li><span>\(name)</span> <b>\(Markup.text(figure))</b>\(small)</li>\n"
  }

  private var changes: String {
    var told = facts.moved.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { reason, count in
      "\(Page.number(count)) \(Markup.text(reason.replacing("_", with: " ")))"
    }
    told = told.isEmpty ? [] : ["Moved: " + told.joined(separator: ", ") + "."]
    if let left = report["left_manifest"]["count"].int64, left > 0 {
      told.append("Left the manifest: \(Page.number(left)).")
    }
    return told.isEmpty ? "" : "<p class=\"note\">\(told.joined(separator: " "))</p>\n"
  }
}
