import JobModel

/// The timeline as pictures above one axis: bytes a second, transfers under way, failures, retries, and pauses with their reasons.
///
/// Shapes are stretched to the page's width, and words stand beside them, so that both fit a phone.
struct TimelineChart {
  let timeline: RunTimeline

  var html: String {
    let moved = timeline.bytes.contains { $0 >= 1 }
    let busy = timeline.underWay.contains { $0 > 0 }
    let failures = timeline.failures.reduce(0, +)
    let retries = timeline.retries.reduce(0, +)
    guard moved || busy || failures + retries > 0 || !timeline.pauses.isEmpty else { return "" }
    var out = "<figure class=\"time\">\n"
    if moved {
      let most = timeline.rates.max() ?? 0
      out += lane("Bytes a second", "up to " + Figures.rate(most), area(timeline.rates, most, "rate"), "tall")
    }
    if busy {
      let most = timeline.underWay.max() ?? 0
      let told = most < 9.95 ? JSON.number((most * 10).rounded() / 10).text : Page.number(Int(most.rounded()))
      out += lane("Transfers under way", "up to " + told, area(timeline.underWay, most, "busy"), "low")
    }
    if failures > 0 {
      out += lane("Failures", Page.number(failures), strokes(timeline.failures, "failure"), "low")
    }
    if retries > 0 { out += lane("Retries", Page.number(retries), strokes(timeline.retries, "retry"), "low") }
    return out + pauseLanes + axis + gaps + "</figure>\n"
  }

  private func lane(_ title: String, _ told: String, _ shapes: String, _ kind: String) -> String {
    """
    <div class="lane"><div class="cap"><span>\(title)</span><span>\(Markup.text(told))</span></div>
    <svg class="\(kind)" viewBox="0 0 \(RunTimeline.slices) 100" preserveAspectRatio="none" role="img" \
    aria-label="\(title) over the run, \(Markup.text(told))">\(pauses)\(shapes)</svg></div>

    """
  }

  private static let pauseLimit = 6

  /// A lane for each reason, those that took longest first.
  private var pauseLanes: String {
    let reasons = Dictionary(grouping: timeline.pauses, by: \.reason).map { reason, pauses in
      (reason, pauses, pauses.reduce(0) { $0 + $1.end - $1.start })
    }.sorted { ($1.2, $0.0) < ($0.2, $1.0) }
    return reasons.prefix(Self.pauseLimit).map { reason, pauses, seconds in
      let subjects = Set(pauses.compactMap(\.subject)).sorted()
      let more = subjects.count > 2 ? " and \(subjects.count - 2) more" : ""
      let names =
        subjects.isEmpty ? "" : subjects.prefix(2).map(Page.clipped).joined(separator: ", ") + more + ": "
      let shapes = pauses.map { pause in
        let x = timeline.place(pause.start) * Double(RunTimeline.slices)
        let width = max(0.3, timeline.place(pause.end) * Double(RunTimeline.slices) - x)
        return "<rect class=\"hold\" x=\"\(text(x))\" y=\"0\" width=\"\(text(width))\" height=\"100\"/>"
      }.joined()
      return lane(
        "Paused: \(Markup.text(Page.clipped(reason)))", names + Figures.duration(seconds), shapes, "thin")
    }.joined()
  }

  /// Where no attempt ran.
  private var pauses: String {
    breaks.map { before, after in
      let x = timeline.place(before.end) * Double(RunTimeline.slices)
      let width = max(0.3, timeline.place(after.start) * Double(RunTimeline.slices) - x)
      return "<rect class=\"gap\" x=\"\(text(x))\" y=\"0\" width=\"\(text(width))\" height=\"100\"/>"
    }.joined()
  }

  /// Attempts with time between them.
  private var breaks: [(RunTimeline.Attempt, RunTimeline.Attempt)] {
    Array(zip(timeline.attempts, timeline.attempts.dropFirst()).filter { $0.end < $1.start })
  }

  private func area(_ values: [Double], _ most: Double, _ kind: String) -> String {
    guard most > 0 else { return "" }
    var path = "M0 100"
    for (index, value) in values.enumerated() {
      let y = text(100 - min(1, value / most) * 96)
      path += "L\(index) \(y)L\(index + 1) \(y)"
    }
    return "<path class=\"\(kind)\" d=\"\(path)L\(values.count) 100Z\"/>"
  }

  private func strokes(_ counts: [Int], _ kind: String) -> String {
    guard let most = counts.max(), most > 0 else { return "" }
    return counts.enumerated().filter { $0.element > 0 }.map { index, count in
      let height = max(12, Double(count) / Double(most) * 96)
      return
        "<rect class=\"\(kind)\" x=\"\(index)\" y=\"\(text(100 - height))\" width=\"0.8\" height=\"\(text(height))\"/>"
    }.joined()
  }

  private var axis: String {
    let marks = (0...4).map { part -> String in
      let time = timeline.start + (timeline.end - timeline.start) * Double(part) / 4
      let shown = Timestamp.text(time)
      let span = timeline.end - timeline.start
      let day = span >= 86_400 ? shown.dropFirst(5).prefix(5) + " " : ""
      let words = day + shown.dropFirst(11).prefix(span < 120 ? 10 : span < 86_400 ? 8 : 5)
      return "<span>\(words)</span>"
    }
    return "<div class=\"axis\">\(marks.joined())</div>\n"
  }

  private var gaps: String {
    guard !breaks.isEmpty else { return "" }
    let told = breaks.prefix(5).map { before, after in
      let code = before.exitCode.map { " with exit code \($0)" } ?? ""
      let pause = Figures.duration(after.start - before.end)
      return "stopped at \(Page.time(Timestamp.text(before.end)))\(code), went on after \(pause)"
    }
    let rest = breaks.count > 5 ? "; \(breaks.count - 5) more stops" : ""
    return "<p class=\"note\">Grey: \(told.joined(separator: "; "))\(rest).</p>\n"
  }

  private func text(_ value: Double) -> String { JSON.number(value).text }
}
