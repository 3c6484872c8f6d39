import Endpoints
import JobLedger
import JobModel
import Posix
import Reporting
import TimeZones

/// What `haul status` shows: where jobs stand, from their ledgers.
package struct JobStatus {
  private let console: Console
  private let json: Bool
  /// Totals alone, without the transfers.
  private let isSummary: Bool
  /// Goes on until the job no longer runs.
  private let watches: Bool

  package init(_ console: Console, json: Bool, isSummary: Bool, watches: Bool) {
    self.console = console
    self.json = json
    self.isSummary = isSummary
    self.watches = watches
  }

  /// Shows one job.
  ///
  /// - Throws: `End` where its state can't be used; as JSON, that is put out before.
  package func show(_ each: JobState) async throws {
    do {
      do { try await follow(each.job, each.state) } catch let error as LedgerError { throw End(error) }
    } catch let end as End {
      if json { try showUnreadable(each, end) }
      throw end
    }
  }

  /// Shows several, as one JSON array; those that can't be read after the others.
  ///
  /// - Parameter isBrief: of a job's parts only where each stands, in a line; JSON has all.
  package func show(all states: [JobState], isBrief: Bool) async throws {
    if json { console.out("[") }
    var damaged: [End] = []
    for (index, each) in states.enumerated() {
      if json, index > 0 { console.out(",\n") }
      do {
        if isBrief, !json, let shard = each.state.shard {
          try showLine(each, shard)
        } else {
          try await show(each)
        }
      } catch let end as End {
        damaged.append(end)
        if let message = end.message { console.error(message, hint: end.hint) }
      }
    }
    if json { console.out("]\n") }
    guard !damaged.isEmpty else { return }
    throw End(
      damaged.contains { $0.status != .alreadyRunning } ? .cannotCreate : .alreadyRunning,
      "the state of \(Figures.count(damaged.count, "job")) can't be read")
  }

  private func showLine(_ part: JobState, _ shard: Shard) throws {
    do {
      let ledger = try part.state.open(part.job)
      let isRunning = try part.state.isRunning(part.job)
      if !isRunning { try part.state.settle(part.job, ledger) }
      let head = try ReportSink.head(part.job, ledger, try ledger.lastRun())
      let line = try PartText.line(head, ledger.counts(), isRunning: isRunning)
      console.out("\(part.job), shard \(shard.text): \(line)\n")
    } catch let error as LedgerError { throw End(error) }
  }

  private func follow(_ name: String, _ state: StateFolder) async throws {
    let ledger = try state.open(name)
    var meter = watches ? RateMeter() : nil
    while true {
      let isRunning = try state.isRunning(name)
      if !isRunning { try state.settle(name, ledger) }
      let began = SystemClock.uptime
      try show(name, ledger, isRunning: isRunning, &meter)
      guard watches, isRunning, console.outFailure == nil else { return }
      // A look at a plan of a million takes its time: at most a tenth of ours.
      try await Task.sleep(for: .seconds(max(1, (SystemClock.uptime - began) * 10)))
    }
  }

  private func show(
    _ name: String, _ ledger: JobLedger, isRunning: Bool, _ meter: inout RateMeter?
  ) throws {
    let head = try ReportSink.head(name, ledger, try ledger.lastRun())
    let now = SystemClock.now
    var situation = try JobSituation(
      head, ledger, isRunning: isRunning, now: now, showsCauses: !json, zone: TimeZones.find)
    meter?.sample(situation.moved, at: now)
    situation.rate = meter?.rate
    if json {
      var report = try ReportSink.report(head, ledger)
      report.situation = situation
      do {
        let buffer = try TempBuffer()
        try isSummary ? report.writeSummary(to: buffer.add) : report.writeJSON(to: buffer.add)
        try buffer.read(console.out)
      } catch let error as OutputFileError { throw End(.cannotCreate, error.description) }
    } else {
      let isTerminal = console.isOutputTerminal
      let size = TerminalSize.current(console.output, columnsVariable: nil)
      let text = StatusText(
        head, situation, isColoured: console.coloursOutput, columns: isTerminal ? size.columns : nil,
        rows: isTerminal ? size.rows : 24
      ).text
      // Drawn over in one go: a screen that is cleared first flickers.
      let isRedrawn = watches && isTerminal
      console.out(
        isRedrawn ? "\u{1b}[H" + text.replacing("\n", with: "\u{1b}[K\n") + "\u{1b}[J" : text)
    }
  }

  /// A report of its own kind, so that the JSON is whole: no plan, and why.
  private func showUnreadable(_ state: JobState, _ end: End) throws {
    var head = ReportHead(toolVersion: ToolVersion.current, jobName: state.job)
    head.shard = state.state.shard
    head.diagnostics = [RecordedDiagnostic(Diagnostic(.error, end.message ?? "the state can't be read"))]
    try LedgerReport(head, ledger: nil, describe: { _ in (EndpointRegistry.web.word, nil) })
      .writeJSON(to: console.out)
  }
}
