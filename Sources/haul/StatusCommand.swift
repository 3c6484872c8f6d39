import ArgumentParser
import Endpoints
import Foundation
import JobLedger
import JobModel
import Reporting

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows where jobs stand: states, bytes, reasons.")

  @Argument(help: "A manifest, or a job's name; all jobs where left out.")
  var job: String?

  @Flag(help: "With --json: totals alone, without the transfers.")
  var summary = false

  @Flag(help: "Go on showing it, until the job no longer runs.")
  var watch = false

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let state = try common.existingState()
    let names = try job.map { [try state.resolve($0)] } ?? state.jobs
    if names.isEmpty {
      Terminal.note("no job has state in `\(state.path)`")
      return
    }
    // Several reports together are one JSON array.
    let isList = common.json && job == nil
    if isList { Terminal.out("[") }
    var damaged: [End] = []
    for (index, name) in names.enumerated() {
      if isList, index > 0 { Terminal.out(",\n") }
      do { try await show(name) } catch let end as End {
        damaged.append(end)
        if common.json { try showUnreadable(name, end) }
        if job == nil, let message = end.message { Terminal.error(message, hint: end.hint) }
      }
    }
    if isList { Terminal.out("]\n") }
    if job != nil, let end = damaged.first { throw end }
    if !damaged.isEmpty {
      let isDamaged = damaged.contains { $0.status != .alreadyRunning }
      throw End(
        isDamaged ? .cannotCreate : .alreadyRunning,
        "the state of \(Figures.count(damaged.count, "job")) can't be read")
    }
  }

  /// - Throws: `End` where the job's state can't be used; nothing of the job was put out then.
  private func show(_ name: String) async throws {
    do {
      let ledger = try common.stateFolder.open(name)
      var meter = watch ? RateMeter() : nil
      while true {
        let isRunning = try common.stateFolder.isRunning(name)
        try show(name, ledger, isRunning: isRunning, &meter)
        guard watch, isRunning, Terminal.outFailure == nil else { break }
        try await Task.sleep(for: .seconds(1))
      }
    } catch let error as LedgerError {
      throw End(.cannotCreate, error.description)
    }
  }

  /// A report of its own kind, so that the JSON is whole: no plan, and why.
  private func showUnreadable(_ name: String, _ end: End) throws {
    var head = ReportHead(toolVersion: Haul.version, jobName: name)
    head.diagnostics = [RecordedDiagnostic(Diagnostic(.error, end.message ?? "the state can't be read"))]
    try ReportWriter(head, ledger: nil, describe: { _ in (EndpointRegistry.web.word, nil) }).write {
      Terminal.out($0)
    }
  }

  private func show(_ name: String, _ ledger: JobLedger, isRunning: Bool, _ meter: inout RateMeter?) throws {
    if !isRunning { try common.stateFolder.settle(name, ledger) }
    let head = try ReportSink.head(name, ledger, try ledger.lastRun())
    if common.json {
      let spool = try Spool()
      try ReportSink.writer(head, ledger, isSummary: summary).write(to: spool.add)
      try spool.read { Terminal.out($0) }
    } else {
      let clear = watch && Terminal.isTerminal(STDOUT_FILENO) ? "\u{1b}[H\u{1b}[2J" : ""
      let text = try StatusText(head, ledger: ledger, isColoured: Terminal.colours(STDOUT_FILENO))
        .text(now: Date().timeIntervalSince1970, meter: &meter)
      Terminal.out(clear + text)
    }
  }
}
