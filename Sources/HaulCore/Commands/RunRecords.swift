import Glibc
import JobLedger
import JobModel
import Posix
import Reporting

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
      let history = History(job: name, runs: try ledger.runs(limit: limit))
      guard json else { return console.out(history.text) }
      try history.writeJSON(toolVersion: ToolVersion.current, to: console.out)
    } catch let error as LedgerError { throw End(error) }
  }

  /// - Parameters:
  ///   - number: nil for the last run.
  ///   - includesAll: every transfer of however long a plan.
  package func writeReport(_ number: Int?, json: Bool, includesAll: Bool, to console: Console) throws {
    do {
      guard let last = try ledger.lastRun() else { throw End(.noInput, "the job `\(name)` has not run yet") }
      guard number == nil || number == last.number else {
        return try writeStored(number ?? last.number, json: json, to: console)
      }
      let head = try ReportSink.head(name, ledger, last)
      guard json else {
        return console.out(try ReportText(head, ledger: ledger, isColoured: console.coloursOutput).text())
      }
      try ReportSink.writer(head, ledger, includesAll: includesAll).write(to: console.out)
    } catch let error as LedgerError { throw End(error) }
  }

  /// The plan has moved on since an older run: its report is the stored one.
  private func writeStored(_ number: Int, json: Bool, to console: Console) throws {
    guard let run = try ledger.run(number: number) else {
      throw End(
        .noInput, "the job `\(name)` has no run \(number)", hint: "`haul history \(name)` lists its runs")
    }
    guard json else {
      console.out(History(job: name, runs: [run]).text)
      return console.note("the details of an older run are in its JSON: `--format json`")
    }
    guard let bytes = try? Files.read(state.folder(name) + "/reports/\(run.id).json") else {
      throw End(.noInput, "the report of run \(number) is no longer kept", hint: "the newest 30 reports are")
    }
    console.out(bytes)
  }
}
