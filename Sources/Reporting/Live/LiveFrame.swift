import JobLedger
import JobModel
import Transfers

/// Renders the live view: a state in, lines out, none wider than the screen and never more than fit.
package enum LiveFrame {
  /// Transfers of a plan that is too long to be read by its transfers.
  private static let crowd = 500
  /// Of a crowd, those in flight for fewer seconds come and go too fast to be read.
  private static let leastAge = 2.0
  private static let crowdRows = 5
  private static let causeRows = 3
  private static let totalRows = 3

  /// Transfers in flight, as many as fit, and causes of failures; then the total. Of very many transfers the slowest.
  package static func lines(_ state: LiveState, columns: Int, rows: Int, isColoured: Bool) -> [String] {
    // A full last column makes some terminals wrap.
    let width = max(1, columns - 1)
    let paint = Paint(isOn: isColoured)
    let most = max(1, rows - 2)
    let total = wrapped(parts(state), width, most: min(totalRows, most))
    let causes = state.causes.prefix(max(0, min(causeRows, most - total.count - 1))).map { cause($0, width) }
    let isCrowd = state.standing.counts.total > crowd
    let room = min(most - total.count - causes.count, isCrowd ? crowdRows : .max)
    let running =
      isCrowd
      ? state.running.filter { $0.age ?? .infinity >= leastAge }.sorted { $0.age ?? 0 > $1.age ?? 0 }
      : state.running
    let shown =
      state.running.count > min(room, running.count) ? min(max(0, room - 1), running.count) : running.count
    var lines = running.prefix(shown).map { row($0, width: width, isColoured: isColoured) }
    if state.running.count > shown, room > 0 {
      let rest = state.running.count - shown
      lines.append(DisplayText.truncated(shown > 0 ? "… and \(rest) more" : "\(rest) in flight", to: width))
    }
    return lines + causes.map(paint.red)
      + total.enumerated().map { $0.offset == 0 ? paint.bold($0.element) : $0.element }
  }

  /// `12 failed: NOT_FOUND: HTTP 404 from https://h/…: a, b, c and 9 more`
  private static func cause(_ group: CauseTally.Group, _ width: Int) -> String {
    let message = Masking.text(group.count == 1 ? group.example : group.cause.message)
    let names = CauseTally.names(group.ids, of: group.count)
    let text = "\(group.count) failed: \(group.cause.code): \(message): \(names)"
    return DisplayText.truncated(DisplayText.safe(text), to: width)
  }

  /// The parts in lines of at most so many columns; what finds no room is left out.
  private static func wrapped(_ parts: [String], _ width: Int, most: Int) -> [String] {
    var lines: [String] = []
    for part in parts {
      if let last = lines.last, DisplayText.width(last) + 2 + DisplayText.width(part) <= width {
        lines[lines.count - 1] = last + "  " + part
      } else {
        lines.append(DisplayText.truncated(part, to: width))
      }
    }
    guard lines.count > most else { return lines }
    return lines.dropLast(lines.count - most + 1)
      + [DisplayText.truncated(lines[most - 1] + "  " + lines[most], to: width)]
  }

  /// `3/10 done, 1 failed, 2 paused (retries 1, user 1)  43%  1.2/3.4 GiB  12 MiB/s  0:30 elapsed  0:40 left`
  package static func total(_ state: LiveState) -> String { parts(state).joined(separator: "  ") }

  private static func parts(_ state: LiveState) -> [String] {
    let counts = state.standing.counts
    var states = ["\(counts.completed + counts.upToDate)/\(counts.total) done"]
    if counts.failed > 0 { states.append("\(counts.failed) failed") }
    if counts.skipped > 0 { states.append("\(counts.skipped) skipped") }
    if counts.paused > 0 {
      let sorted = state.standing.pausedReasons.sorted { $0.key < $1.key }
      let reasons = sorted.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      states.append("\(counts.paused) paused" + (reasons.isEmpty ? "" : " (\(reasons))"))
    }
    var parts = [states.joined(separator: ", ")]
    if let share = state.share {
      let isOfBytes = state.standing.unknownSizes == 0 && state.standing.plannedBytes > 0
      parts.append("\(Int(share * 100))%" + (isOfBytes ? "" : " of the transfers"))
    }
    let done = state.done
    if state.standing.plannedBytes >= done, state.standing.plannedBytes > 0 {
      parts.append(
        Figures.bytes(
          done, of: state.standing.plannedBytes, isAtLeast: state.standing.unknownSizes > 0))
    } else if done > 0 {
      parts.append(Figures.bytes(done))
    }
    if let rate = state.rate { parts.append(Figures.rate(rate)) }
    if let elapsed = state.elapsed, elapsed >= 1 { parts.append(Figures.clock(elapsed) + " elapsed") }
    if let left = state.timeLeft { parts.append(Figures.clock(left) + " left") }
    if state.retries > 0 { parts.append(Figures.count(state.retries, "retry")) }
    if !state.concurrency.isEmpty {
      let sum = state.concurrency.values.reduce(0, +)
      let hosts = state.concurrency.count > 1 ? " to \(state.concurrency.count) hosts" : ""
      parts.append("\(Figures.count(sum, "request")) at a time" + hosts)
    }
    if let limit = state.limit { parts.append("limit " + Figures.bandwidth(limit)) }
    for (name, hold) in state.holds.sorted(by: { $0.key < $1.key }) {
      let until = hold.until.map { " until \(Timestamp.text($0).prefix(16))Z" } ?? ""
      parts.append("\(DisplayText.safe(name.isEmpty ? "a policy" : name)): \(hold.reason.rawValue)\(until)")
    }
    for (host, word) in state.hosts.sorted(by: { $0.key < $1.key }).prefix(3) {
      parts.append("\(DisplayText.safe(host)) \(plain(word))")
    }
    return parts
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
