import JobLedger
import JobModel

/// `haul status` for one job, in words, on one screen. Its JSON is a report: `LedgerReport` with an outcome of nil.
package struct StatusText {
  private let head: ReportHead
  private let situation: JobSituation
  private let paint: Paint
  private let columns: Int?
  private let rows: Int

  /// - Parameters:
  ///   - columns: of the terminal; nil where lines may have any length.
  ///   - rows: lines at the most.
  package init(
    _ head: ReportHead, _ situation: JobSituation, isColoured: Bool, columns: Int? = nil, rows: Int = 24
  ) {
    self.head = head
    self.situation = situation
    self.columns = columns
    self.rows = rows
    paint = Paint(isOn: isColoured)
  }

  /// Whole lines.
  package var text: String {
    let top = summary
    // The last line stays free for the cursor.
    let room = max(4, rows - 1 - top.count - 1)
    let body = ScreenSections(sections: [running, waiting, next, failures]).lines(room)
    let lines = (top + (body.isEmpty ? [] : [""] + body)).prefix(max(1, rows - 1))
    return lines.map { line in columns.map { DisplayText.clipped(line, to: $0 - 1) } ?? line }
      .joined(separator: "\n") + "\n"
  }

  private var summary: [String] {
    let counts = situation.standing.counts
    let summary = RunSummary(
      head: head, counts: counts, sums: situation.sums, paint: paint,
      now: situation.isRunning ? situation.at : nil)
    let name = DisplayText.safe(head.jobName ?? "job") + (head.shard.map { ", shard \($0.text)" } ?? "")
    var lines = ["\(paint.bold(name)): \(state(counts))\(summary.run)"]
    lines += wrapped(summary.transfers)
    if situation.standing.plannedBytes > 0 { lines += wrapped(progress) }
    if let bytes = summary.bytes { lines += wrapped(bytes) }
    if let limit = head.limit { lines.append("  bandwidth \(Figures.bandwidth(limit)) (`haul limit`)") }
    if let limits = LimitsText.text(head.limits) {
      let left = situation.budgetLeft.map { " (\(Figures.setting($0)) left)" } ?? ""
      lines += wrapped("limits of the job: " + limits + left)
    }
    if !situation.isRunning, let ended = head.endedAt, let outcome = head.outcome {
      let code = head.exitCode.map { " (exit code \($0))" } ?? ""
      lines.append("  nothing runs; last run \(outcome.rawValue)\(code), ended \(time(ended))")
    }
    for host in head.hosts.prefix(3) {
      lines.append("  \(paint.yellow(DisplayText.safe(host.host))): \(DisplayText.safe(host.reason))")
    }
    if head.hosts.count > 3 {
      lines.append("  … and \(Figures.count(head.hosts.count - 3, "host")) more; `--json` has them")
    }
    return lines
  }

  private var progress: String {
    let standing = situation.standing
    var text =
      Figures.bytes(
        situation.bytesThere, of: standing.plannedBytes, isAtLeast: standing.unknownSizes > 0) + " there"
    if let share = situation.share { text += " (\(Int(share * 100))%)" }
    if situation.isRunning, let rate = situation.rate { text += ", now " + Figures.rate(rate) }
    if let left = situation.timeLeft { text += ", " + Figures.clock(left) + " left" }
    return text
  }

  private func state(_ counts: StateCounts) -> String {
    // A first run, which has no plan yet.
    if situation.isRunning, counts.total == 0 { return "its plan is being made" }
    if !head.isPlanned { return "not planned yet: its first run was stopped before; `haul run` goes on" }
    let word = counts.jobState
    let isWaiting = situation.isRunning && counts.running == 0 && counts.queued + counts.paused > 0
    let told = isWaiting ? word + "; its run waits" : word
    return switch word {
    case "completed": paint.green(told)
    case "failed": paint.red(told)
    case "paused": paint.yellow(told)
    default: told
    }
  }

  private var running: ScreenSections.Section {
    let (inFlight, count) = (situation.inFlight, situation.standing.counts.running)
    return .init(
      items: inFlight.map { transfer in
        let share = transfer.size.map { size in
          " (\(size > 0 ? Int(min(1, Double(transfer.done) / Double(size)) * 100) : 100)%)"
        }
        let bytes = transfer.size.map { Figures.bytes(transfer.done, of: $0) } ?? Figures.bytes(transfer.done)
        let facts = "  \(bytes)\(share ?? "")"
        let room = columns.map { max(8, $0 - 1 - 8 - DisplayText.width(facts)) }
        let id = DisplayText.safe(transfer.id)
        return ["running \(room.map { DisplayText.elided(id, to: $0) } ?? id)\(facts)"]
      }
    ) { shown in count > shown ? "… and \(count - shown) more running" : nil }
  }

  private var waiting: ScreenSections.Section {
    let waiting = situation.waiting
    return .init(
      items: waiting.map { one in
        let hint = hint(one).map { "; " + $0 } ?? ""
        let single = one.count == 1 ? one.ids.first : nil
        let what = single.map { paint.bold(DisplayText.safe($0)) } ?? Figures.count(one.count, "transfer")
        let line = "\(paint.yellow(one.state.word)) \(what)\(why(one))\(hint)"
        guard single == nil, !one.ids.isEmpty else { return [line] }
        return [line, paint.faint("  " + DisplayText.safe(CauseTally.names(one.ids, of: one.count)))]
      }
    ) { shown in
      let rest = waiting.dropFirst(shown).reduce(0) { $0 + $1.count }
      return rest > 0 ? "… and \(rest) more that wait; `haul status --json` has the reasons" : nil
    }
  }

  private func why(_ waiting: JobSituation.Waiting) -> String {
    let subject = waiting.subject.map { DisplayText.safe(Masking.text($0)) }
    let until = waiting.until.map { ", until \(moment($0))" } ?? ""
    return switch waiting.state {
    case .queued(.needs): " (needs): `\(subject ?? "another")` is to complete first"
    case .paused(.retries): subject.map { " (retries)\(until): \($0) asked for a pause" } ?? " (retries)"
    default:
      (waiting.state.reason.map { " (\($0))" } ?? "") + until + (subject.map { ": policy `\($0)`" } ?? "")
    }
  }

  private func hint(_ waiting: JobSituation.Waiting) -> String? {
    switch waiting.state {
    case .queued(nil): situation.isRunning ? "waiting for a turn" : "the next `haul run` takes them up"
    case .queued(.needs): nil
    case .paused(.user), .queued: AttentionText.hint(waiting.state)
    default: situation.isRunning && waiting.until != nil ? nil : AttentionText.hint(waiting.state)
    }
  }

  private var next: ScreenSections.Section {
    let next = situation.next
    let action = situation.isRunning ? "" : "; `haul run` goes on from then"
    return .init(
      items: next.map { coming in
        ["next: \(event(coming)) at \(moment(coming.at))\(action)"]
      }
    ) { shown in next.count > shown && shown > 0 ? "… and \(next.count - shown) more to come" : nil }
  }

  private func event(_ coming: JobSituation.Coming) -> String {
    let subject = coming.subject.map { DisplayText.safe(Masking.text($0)) }
    let policy = subject.map { " of policy `\($0)`" } ?? ""
    return switch coming.event {
    case .windowOpens: "the window\(policy) opens"
    case .budgetBegins: "the budget\(policy.isEmpty ? "" : policy)'s next period begins"
    case .cooldownEnds: "\(subject ?? "a server") may be asked again"
    case .hostIsAsked: "one request asks \(subject ?? "a server") whether it answers"
    }
  }

  private var failures: ScreenSections.Section {
    let groups = situation.causes.groups.filter { !$0.tally.cause.code.isEmpty || $0.first.state.breaksNeed }
    let text = AttentionText(paint: paint, zone: head.zone, resumesAt: head.resumesAt)
    return .init(items: groups.map(text.lines)) { shown in
      let rest = groups.dropFirst(shown).reduce(0) { $0 + $1.tally.count }
      return rest > 0 ? "… and \(rest) more that failed; `haul report` names the causes" : nil
    }
  }

  /// `2026-11-23 22:00:00 UTC, in 2 h 5 min`
  private func moment(_ seconds: Double) -> String {
    "\(time(seconds)), in \(Figures.duration(max(0, seconds - situation.at)))"
  }

  private func time(_ seconds: Double) -> String { LocalTime.text(seconds, head.zone) }

  /// A line of the summary, as many as the terminal's width takes.
  private func wrapped(_ text: String) -> [String] {
    guard let columns else { return ["  " + text] }
    return DisplayText.wrapped(text, to: max(20, columns - 3)).enumerated().map {
      ($0.offset == 0 ? "  " : "    ") + $0.element
    }
  }
}
