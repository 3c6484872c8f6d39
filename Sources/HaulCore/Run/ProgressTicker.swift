import Glibc
import JobLedger
import JobModel
import Locks
import Posix
import Reporting
import Transfers

/// Drives the live view and the events' `progress`, each at its own pace.
final class ProgressTicker: Sendable {
  private struct State {
    var nextEvent = 0.0
    var nextLook = 0.0
    var totals: (counts: StateCounts, sums: TransferSums)?
    var lastMoved = 0
    var lastTime: Double?
  }

  private let view: LiveView
  private let ledger: JobLedger
  private let board: ProgressRegistry
  private let events: EventSink
  private let state = Locked(State())

  init(
    ledger: JobLedger, board: ProgressRegistry, isEnabled: Bool, events: EventSink, _ context: CommandContext
  ) {
    let (console, environment) = (context.console, context.environment.variables)
    let form = ProgressForm(
      isEnabled: isEnabled, isTerminal: console.isErrorTerminal && !console.style.isRecords,
      term: environment["TERM"],
      noColor: environment["NO_COLOR"])
    view = LiveView(
      form, board: board, standing: { try? ledger.standing() },
      size: { TerminalSize.current(console.errors, columnsVariable: environment["COLUMNS"]) },
      write: { console.emit($0) },
      writeLine: { console.style.isRecords ? console.record("info", $0) : console.timed($0 + "\n") })
    self.ledger = ledger
    self.board = board
    self.events = events
  }

  func tick() {
    let now = SystemClock.uptime
    view.tick(now: now)
    guard events.isOn else { return }
    let rate: Double?? = state.withLock { state in
      guard now >= state.nextEvent else { return nil }
      state.nextEvent = now + 1
      let moved = board.moved
      defer { (state.lastMoved, state.lastTime) = (moved, now) }
      return .some(state.lastTime.map { Double(moved - state.lastMoved) / max(0.001, now - $0) })
    }
    guard let rate, let totals = totals(now) else { return }
    events.write(.progress(totals.counts, totals.sums, rate: rate))
  }

  /// The plan's totals, which take seconds to count for a million transfers: asked as seldom as that demands, and
  /// told again meanwhile.
  private func totals(_ now: Double) -> (counts: StateCounts, sums: TransferSums)? {
    let known = state.withLock { now < $0.nextLook ? $0.totals : nil }
    if let known { return known }
    guard let counts = try? ledger.counts(), let sums = try? ledger.sums() else { return nil }
    let took = SystemClock.uptime - now
    state.withLock {
      $0.totals = (counts, sums)
      // A look of some milliseconds is one a second; more than 3 % of a core is never spent on it.
      $0.nextLook = now + took * 32
    }
    return (counts, sums)
  }

  func record(_ event: EngineEvent) { view.record(event) }

  /// Writes lines where the live view does not draw over them.
  func note(_ text: String) { view.note(text) }

  func end() { view.end() }
}
