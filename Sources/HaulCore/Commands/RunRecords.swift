import Glibc
import JobLedger
import JobModel
import Posix
import Reporting
import TimeZones

/// A job's past runs: what `haul history` and `haul report` print.
package struct RunRecords {
  private let name: String
  private let ledger: JobLedger
  private let state: StateFolder

  package init(_ name: String, _ state: StateFolder) throws {
    self.name = name
    self.state = state
    ledger = try state.openSettled(name)
  }

  /// The newest runs first.
  package func writeHistory(limit: Int, json: Bool, to console: Console) throws {
    do {
      var runs = try ledger.runs(limit: limit)
      // One that goes on is told as it stands.
      if let last = runs.first, last.endedAt == nil { runs[0].totals = try ledger.totals() }
      let history = History(job: name, runs: runs, zone: TimeZones.find(nil))
      let size = TerminalSize.current(console.output, columnsVariable: nil)
      guard json else {
        return console.out(history.text(columns: console.isOutputTerminal ? size.columns : nil))
      }
      try history.writeJSON(toolVersion: ToolVersion.current, to: console.out)
    } catch let error as LedgerError { throw End(error) }
  }

  /// - Parameters:
  ///   - number: nil for the last run.
  ///   - job: as the command line names it: a manifest's path, or the job's name.
  ///   - includesAll: every transfer of however long a plan.
  ///   - isOfRest: only transfers that did not complete.
  package func writeReport(
    _ number: Int?, of job: String, to target: ReportTarget, includesAll: Bool, isOfRest: Bool,
    console: Console
  ) throws {
    do {
      let manifests = try [ledger.meta("manifest"), job == name ? nil : job].compactMap(\.self)
      try ReportTarget.check(target.path, apartFrom: manifests, "the manifest")
      try ReportTarget.check(target.path, apartFromFilesOf: ledger)
      let whole = try report(number, includesAll: includesAll, target.form)
      let report: any Report = isOfRest ? IncompleteReport(whole) : whole
      if target.path == "-", target.form == .text {
        console.out(try report.text(isColoured: console.coloursOutput))
      } else {
        try target.write(report, to: console)
      }
    } catch let error as LedgerError {
      throw End(error)
    } catch let error as OutputFileError {
      throw End(.cannotCreate, error.description)
    } catch let error as UnreadableReport {
      throw End(
        .noInput, "`\(error.path)` can't be read as a report of this version of haul",
        hint: "`--format json` gives it as it is")
    }
  }

  /// The report of a run since whose end the transfers were changed; nil where they were not, or none is kept.
  private func storedReport(of run: RunRecord) throws -> StoredReport? {
    let path = state.folder(name) + "/reports/\(run.id).json"
    // A killed attempt wrote none.
    guard run.exitCode != nil, try ledger.isChanged(since: run), Files.exists(path) else { return nil }
    return StoredReport(path, job: name, run: run, lastSuccess: try ledger.lastSuccess())
  }

  private func report(_ number: Int?, includesAll: Bool, _ form: ReportForm) throws -> any Report {
    guard let last = try ledger.lastRun() else { throw End(.noInput, "the job `\(name)` has not run yet") }
    let isLast = number == nil || number == last.number
    // What ended speaks of the plan that it had, and of what became of it; ids are for the next run, which takes them as they are.
    if isLast, form != .ids, let stored = try storedReport(of: last) { return stored }
    guard let number, !isLast else {
      return try ReportSink.report(ReportSink.head(name, ledger, last), ledger, includesAll: includesAll)
    }
    guard let run = try ledger.run(number: number) else {
      throw End(
        .noInput, "\(state.words(name)) has no run \(number)",
        hint: "`haul history \(name)\(state.option)` lists its runs")
    }
    let stored = state.folder(name) + "/reports/\(run.id).json"
    guard form == .text || Files.exists(stored) else {
      throw End(
        .noInput, "the report of run \(number) of the job `\(name)` is no longer kept",
        hint: "the newest \(StateFolder.keptReports) reports are, as far as `haul gc` left them")
    }
    return StoredReport(
      stored, job: name, run: run,
      lastSuccess: try ledger.lastSuccess())
  }
}
