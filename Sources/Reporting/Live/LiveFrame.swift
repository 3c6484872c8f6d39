import JobLedger
import JobModel
import Transfers

/// Renders the live view: a state in, lines out, none wider than the screen and never more than fit.
package enum LiveFrame {
  /// One line a transfer in flight, as many as fit, then the total.
  package static func lines(_ state: LiveState, columns: Int, rows: Int, isColoured: Bool) -> [String] {
    // A full last column makes some terminals wrap.
    let width = max(1, columns - 1)
    // Of very many transfers, those in flight come and go too fast to be read: the slowest are shown.
    let isCrowd = state.standing.counts.total > 500
    let room = min(max(0, rows - 3), isCrowd ? 5 : .max)
    var lines: [String] = []
    let shown = state.running.count > room ? max(0, room - 1) : state.running.count
    for line in state.running.prefix(shown) { lines.append(row(line, width: width, isColoured: isColoured)) }
    if state.running.count > shown, room > 0 {
      lines.append(DisplayText.truncated("… and \(state.running.count - shown) more", to: width))
    }
    let total = DisplayText.truncated(total(state), to: width)
    lines.append(Paint(isOn: isColoured).bold(total))
    return lines
  }

  /// `3/10 done, 1 failed, 2 paused (retries 1, user 1)  43%  1.2/3.4 GiB  12 MiB/s  0:30 elapsed  0:40 left`
  package static func total(_ state: LiveState) -> String {
    let counts = state.standing.counts
    var parts = ["\(counts.completed + counts.upToDate)/\(counts.total) done"]
    if counts.failed > 0 { parts.append("\(counts.failed) failed") }
    if counts.skipped > 0 { parts.append("\(counts.skipped) skipped") }
    if counts.paused > 0 {
      let sorted = state.standing.pausedReasons.sorted { $0.key < $1.key }
      let reasons = sorted.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      parts.append("\(counts.paused) paused" + (reasons.isEmpty ? "" : " (\(reasons))"))
    }
    var text = parts.joined(separator: ", ")
    if let share = state.share { text += "  \(Int(share * 100))%" }
    let done = state.done
    if state.standing.plannedBytes >= done, state.standing.plannedBytes > 0 {
      text +=
        "  "
        + Figures.bytes(
          done, of: state.standing.plannedBytes, isAtLeast: state.standing.unknownSizes > 0)
    } else if done > 0 {
      text += "  " + Figures.bytes(done)
    }
    if let rate = state.rate { text += "  " + Figures.rate(rate) }
    if let elapsed = state.elapsed, elapsed >= 1 { text += "  " + Figures.clock(elapsed) + " elapsed" }
    if let left = state.timeLeft { text += "  " + Figures.clock(left) + " left" }
    if state.retries > 0 { text += "  " + Figures.count(state.retries, "retry") }
    if !state.concurrency.isEmpty {
      let sum = state.concurrency.values.reduce(0, +)
      text += "  \(Figures.count(sum, "request")) at a time"
      if state.concurrency.count > 1 { text += " to \(state.concurrency.count) hosts" }
    }
    if let limit = state.limit { text += "  limit " + Figures.bandwidth(limit) }
    for (name, hold) in state.holds.sorted(by: { $0.key < $1.key }) {
      text += "  \(DisplayText.safe(name.isEmpty ? "a policy" : name)): \(hold.reason.rawValue)"
      if let until = hold.until { text += " until " + Timestamp.text(until).prefix(16) + "Z" }
    }
    for (host, word) in state.hosts.sorted(by: { $0.key < $1.key }).prefix(3) {
      text += "  \(DisplayText.safe(host)) \(plain(word))"
    }
    return text
  }

  /// A host's state in words that need no glossary.
  static func plain(_ word: String) -> String {
    switch word {
    case "opened": "does not answer: left alone for a while"
    case "given_up": "does not answer: given up"
    case "probing": "is asked whether it answers again"
    case "slowed": "asked for fewer requests"
    case "no_network": "can't be reached: no network"
    default: word.replacing("_", with: " ")
    }
  }

  private static func row(_ line: LiveLine, width: Int, isColoured: Bool) -> String {
    var facts: [String] = []
    let share = line.size.map { $0 > 0 ? min(1, max(0, Double(line.done) / Double($0))) : 1 }
    if let share { facts.append(leading("\(Int(share * 100))%", 4)) }
    facts.append(leading(line.size.map { Figures.bytes(line.done, of: $0) } ?? Figures.bytes(line.done), 15))
    facts.append(leading(line.rate.map(Figures.rate) ?? "", 10))
    facts.append(leading(line.timeLeft.map(Figures.clock) ?? "", 6))
    if line.retries > 0 { facts.append(Figures.count(line.retries, "retry")) }
    let right = facts.joined(separator: "  ")
    let id = DisplayText.safe(line.id)
    let left = width - DisplayText.width(right) - 2
    guard left >= 12 else { return narrow(line, id, share, width) }
    let barWidth = share == nil || left < 36 ? 0 : min(24, left - 24)
    let name = left - (barWidth > 0 ? barWidth + 4 : 0)
    var text = DisplayText.padded(DisplayText.elided(id, to: name), to: name)
    if barWidth > 0, let share { text += "  " + bar(share, barWidth, isColoured) }
    return text + "  " + right
  }

  /// Too narrow for all: the id, then those facts that fit whole, the share and the time left first.
  private static func narrow(_ line: LiveLine, _ id: String, _ share: Double?, _ width: Int) -> String {
    let facts: [String?] = [
      share.map { "\(Int($0 * 100))%" }, line.timeLeft.map(Figures.clock), line.rate.map(Figures.rate),
      line.size.map { Figures.bytes(line.done, of: $0) } ?? Figures.bytes(line.done),
      line.retries > 0 ? Figures.count(line.retries, "retry") : nil,
    ]
    var text = DisplayText.truncated(DisplayText.elided(id, to: max(8, width / 3)), to: width)
    for fact in facts.compactMap({ $0 })
    where DisplayText.width(text) + 2 + DisplayText.width(fact) <= width {
      text += "  " + fact
    }
    return text
  }

  private static func bar(_ share: Double, _ width: Int, _ isColoured: Bool) -> String {
    let full = Int(share * Double(width))
    let done = String(repeating: "#", count: full)
    return "[" + Paint(isOn: isColoured && full > 0).green(done) + String(repeating: "-", count: width - full)
      + "]"
  }

  private static func leading(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - DisplayText.width(text))) + text
  }
}
