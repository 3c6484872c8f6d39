import Endpoints
import Glibc
import JobLedger
package import JobModel
import Maintenance
import Posix
import Reporting
import Transfers

/// `pause`, `resume`, `cancel` or `retry`, brought to the running job or, where none runs, to its ledger.
package struct ControlRequest: Sendable {
  private let control: Control
  private let state: StateFolder
  private let context: CommandContext

  /// - Throws: `End` with 64 for what is no glob of ids.
  package init(_ control: Control, _ state: StateFolder, _ context: CommandContext) throws {
    for id in control.ids {
      do { _ = try GlobPattern(id) } catch {
        throw End(.usage, "`\(id)` is neither an id nor a glob of ids: \(error.message)", hint: error.hint)
      }
    }
    self.control = control
    self.state = state
    self.context = context
  }

  /// - Returns: how many transfers were changed.
  package func apply(to name: String) async throws -> Int {
    let ledger = try state.open(name)
    do {
      let unknown = try ledger.unknown(control.ids)
      guard unknown.isEmpty else {
        throw End(
          .noInput,
          "the job `\(name)` has no transfer \(unknown.map { "`\($0)`" }.joined(separator: ", ")): nothing was changed",
          hint: (unknown.contains { $0.contains("*") } ? "a glob's `*` ends at `/`, `**` does not; " : "")
            + "`haul status \(name)\(state.option) --json` lists the ids")
      }
      guard let lock = try RunLock.take(state.folder(name), waiting: false) else {
        // The running `haul run` looks for requests a few times a second.
        return try await ledger.result(of: ledger.request(control, at: SystemClock.now))
      }
      defer { withExtendedLifetime(lock) {} }
      return try await applyAtRest(name, ledger)
    } catch let error as LedgerError { throw End(error) }
  }

  private func applyAtRest(_ name: String, _ ledger: JobLedger) async throws -> Int {
    try ledger.settleInterrupted()
    guard let job = try ledger.recordedJob(context.environment) else {
      throw End(
        .noInput, "the manifest of `\(name)` can't be read any more",
        hint:
          "its endpoints are needed to end remote sessions; put it back, or run with --adopt from its new place"
      )
    }
    let writer = LedgerWriter(ledger) { _ in }
    let setUp = try EngineSetUp(
      job: job, context, stateFolder: state.folder(name), root: state, ledger: ledger, writer: writer,
      run: try ledger.lastRun()?.number ?? 0, board: ProgressRegistry(), events: context.console.print)
    defer { setUp.shutDown() }
    let changed = try await ControlApplier.applyAtRest(control, context: setUp.maintenance)
    try writer.close()
    return changed
  }
}

extension JobLedger {
  /// Waits until the running job has applied a request, and gives how many transfers it changed.
  func result(of number: Int64) async throws -> Int {
    for _ in 0..<100 {
      if let changed = try controlResult(number) { return changed }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw End(
      .incomplete, "the running job has not answered within 5 s; the request is recorded and will be applied")
  }
}
