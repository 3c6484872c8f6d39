import JobLedger
package import JobModel
import Posix

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

  /// - Parameter stopper: where it is stopped, what nobody has begun to apply is withdrawn.
  /// - Returns: how many transfers were changed.
  package func apply(to name: String, _ stopper: StopController) async throws -> Int {
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
      let number = try ledger.request(control, at: SystemClock.now)
      return try await result(of: number, name, ledger, stopper)
    } catch let error as LedgerError { throw End(error) }
  }

  /// - Returns: how many transfers the request changed.
  private func result(
    of number: Int64, _ name: String, _ ledger: JobLedger, _ stopper: StopController
  ) async throws -> Int {
    var waited = "in time"
    switch try await ledger.answer(
      to: number, in: state.folder(name), isStopped: { stopper.cause != nil })
    {
    case .given: break
    case .atRest(let lock):
      defer { withExtendedLifetime(lock) {} }
      let command = CommandLock(state.folder(name))
      defer { withExtendedLifetime(command) {} }
      do {
        try await stopper.race {
          // Also where it is left behind.
          defer { withExtendedLifetime(lock) {} }
          try await applyAtRest(name, ledger)
        }
      } catch is StopController.Stopped {
        guard try ledger.withdrawControl(number, at: SystemClock.now) else {
          throw End(
            .incomplete, "stopped before it was applied to its end",
            hint: "the next `haul run`, or the next control, applies the rest")
        }
        throw End(.incomplete, "stopped: nothing was changed")
      } catch {
        // None is applied whose user is told that it failed.
        _ = try? ledger.withdrawControl(number, isBegun: true, at: SystemClock.now)
        throw error
      }
    case .late(let seconds):
      waited = "within \(seconds) s"
      try ledger.withdrawControl(number, at: SystemClock.now)
    }
    switch try ledger.controlState(number) {
    case .applied(let changed): return changed
    case .waiting, .withdrawn:
      throw End(
        .incomplete, "the running job has not answered \(waited): nothing was changed",
        hint: "give the command again")
    case .begun:
      throw End(
        .incomplete, "the running job has not applied it to its end \(waited): it goes on",
        hint: "`haul status \(name)\(state.option)` shows what has changed")
    }
  }

  private func applyAtRest(_ name: String, _ ledger: JobLedger) async throws {
    try ledger.settleInterrupted()
    guard try ledger.wasPlanned else {
      throw End(
        .noInput, "the job `\(name)` has not been planned yet: its first run was stopped before",
        hint: "`haul run` plans it; then give the command again")
    }
    guard let job = try ledger.recordedJob(name, context.environment) else {
      let fault = try ledger.manifestFault(context.environment)
      throw End(
        .noInput, "the manifest of `\(name)` \(fault)",
        hint:
          "its endpoints are needed to end remote sessions; mend it or put it back, or run with --adopt from its new place"
      )
    }
    try await RecordedControls(ledger, state, context).settle(job)
  }
}
