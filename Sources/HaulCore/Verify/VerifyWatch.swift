import JobModel
import Locks
import Posix
import Reporting

/// Shows on a terminal how far a verification is.
final class VerifyWatch: Sendable {
  private static let interval = Duration.milliseconds(500)

  private struct State {
    var totals: VerifyTotals
    var progress: VerifyProgress
  }

  private let state: Locked<State>
  private let line: StatusLine
  private let reads: OpenReads
  private let isEnabled: Bool

  /// - Parameters:
  ///   - isWanted: false for `--no-progress` and `--quiet`.
  ///   - totals: what a stopped verification had compared.
  init(_ context: CommandContext, isWanted: Bool, from totals: VerifyTotals, reads: OpenReads) {
    let (console, environment) = (context.console, context.environment.variables)
    let form = ProgressForm(
      isEnabled: isWanted, isTerminal: console.isErrorTerminal && !console.style.isRecords,
      term: environment["TERM"], noColor: environment["NO_COLOR"])
    isEnabled = form.kind == .live
    line = StatusLine(
      isEnabled: isEnabled,
      columns: { TerminalSize.current(console.errors, columnsVariable: environment["COLUMNS"]).columns },
      write: { console.emit($0) })
    state = Locked(State(totals: totals, progress: VerifyProgress(bytesBefore: totals.bytesRead)))
    self.reads = reads
  }

  /// Draws until it is cancelled.
  ///
  /// - Parameter count: what there is to compare, which takes a while to count.
  func run(_ count: @escaping @Sendable () throws -> (transfers: Int, bytes: Int64)) async {
    guard isEnabled else { return }
    let counting = Task {
      guard let whole = try? await DedicatedThread.run(count) else { return }
      state.withLock { $0.progress.whole = whole }
    }
    defer { counting.cancel() }
    while !Task.isCancelled {
      let text = state.withLock { $0.progress.line($0.totals, bytes: reads.bytes, now: SystemClock.uptime) }
      line.show(text)
      try? await Task.sleep(for: Self.interval)
    }
    line.print {}
  }

  func note(_ totals: VerifyTotals) { state.withLock { $0.totals = totals } }

  /// Prints lines where they are not drawn over.
  func print(_ body: () -> Void) { line.print(body) }
}
