import Dispatch
package import JobLedger
import JobModel
import Locks
package import Transfers

/// Shows how a run goes on: redrawn lines on a terminal, elsewhere a plain line now and then.
package final class LiveView: Sendable {
  private struct State {
    var meters: [Int64: (meter: RateMeter, since: Double)] = [:]
    var failures = CauseTally()
    var total = RateMeter()
    var moved: Int64 = 0
    var standing = PlanStanding()
    /// Bytes of each transfer in flight, by its place in the plan.
    var inFlight: [Int64: Int64] = [:]
    /// Bytes of those that have left since the standing was asked for, which it does not count.
    var landed: Int64 = 0
    var nextStanding = 0.0
    var nextDraw = 0.0
    /// Columns of each line that is on the screen now.
    var drawn: [Int] = []
    /// Bytes that are still to be written.
    var unwritten = 0
    var hasStarted = false
    var startedAt = 0.0
    /// Transfers that were done when it began.
    var doneBefore = 0
    var isOver = false
  }

  private static let interval = 0.2
  private static let plainInterval = 30.0
  /// Who has a note waits from here on, rather than filling the memory.
  private static let mostUnwritten = 1 << 20

  private let state = Locked(State())
  /// Writes what was made under the lock: a terminal that stands still (Ctrl-S) holds up nobody who has the lock to take.
  private let queue = DispatchQueue(label: "haul.live")
  private let form: ProgressForm
  private let board: ProgressRegistry
  private let standing: @Sendable () -> PlanStanding?
  private let size: @Sendable () -> (columns: Int, rows: Int)
  private let write: @Sendable (String) -> Void
  private let writeLine: @Sendable (String) -> Void

  /// - Parameters:
  ///   - standing: where the plan stands; asked as seldom as its cost demands, at most once a second.
  ///   - size: the terminal's, asked at each redraw.
  ///   - write: to standard error.
  ///   - writeLine: the same, for a plain line of progress.
  package init(
    _ form: ProgressForm, board: ProgressRegistry, standing: @escaping @Sendable () -> PlanStanding?,
    size: @escaping @Sendable () -> (columns: Int, rows: Int), write: @escaping @Sendable (String) -> Void,
    writeLine: (@Sendable (String) -> Void)? = nil
  ) {
    self.form = form
    self.board = board
    self.standing = standing
    self.size = size
    self.write = write
    self.writeLine = writeLine ?? { write($0 + "\n") }
  }

  /// Draws what is due; call it some ten times a second.
  ///
  /// - Parameter now: seconds on a clock that never goes back.
  package func tick(now: Double) {
    guard form.kind != .none else { return }
    state.withLock { state in
      guard !state.isOver, now >= state.nextDraw || !state.hasStarted else { return }
      refreshStanding(&state, now)
      if !state.hasStarted {
        state.startedAt = now
        state.doneBefore = state.standing.counts.completed + state.standing.counts.upToDate
      }
      let live = sample(&state, now)
      switch form.kind {
      case .live:
        state.nextDraw = now + Self.interval - 0.001
        redraw(&state, live)
      case .plain:
        state.nextDraw = now + Self.plainInterval
        put((state.hasStarted ? "" : "started: ") + LiveFrame.total(live), &state, by: writeLine)
      case .none: break
      }
      state.hasStarted = true
    }
  }

  /// Takes in what has failed.
  package func record(_ event: EngineEvent) {
    guard form.kind == .live, case .state(let id, _, .failed, let failure?, _) = event else { return }
    state.withLock { state in
      _ = state.failures.add(Cause(failure, id: id), id: id, example: failure.message)
    }
  }

  /// Writes a text of whole lines where it is not drawn over.
  package func note(_ text: String) {
    let waits = state.withLock { state in
      put(erasure(&state) + text, &state, by: write)
      if form.kind == .live { state.nextDraw = 0 }
      return state.isOver || state.unwritten > Self.mostUnwritten
    }
    if waits { flush() }
  }

  /// Takes the live lines off the screen; nothing is drawn any more, and all is written.
  package func end() {
    state.withLock { state in
      put(erasure(&state), &state, by: write)
      state.isOver = true
    }
    flush()
  }

  /// Returns when all is written that was told before.
  func flush() { queue.sync {} }

  private func put(_ text: String, _ state: inout State, by write: @escaping @Sendable (String) -> Void) {
    guard !text.isEmpty else { return }
    let count = text.utf8.count
    state.unwritten += count
    queue.async { [self] in
      write(text)
      self.state.withLock { $0.unwritten -= count }
    }
  }

  private func refreshStanding(_ state: inout State, _ now: Double) {
    guard now >= state.nextStanding || !state.hasStarted else { return }
    let clock = ContinuousClock()
    let begin = clock.now
    if let fresh = standing() { (state.standing, state.inFlight, state.landed) = (fresh, [:], 0) }
    let spent = begin.duration(to: clock.now) / .seconds(1)
    // A plan of a million rows takes its time: at most a twentieth of ours.
    state.nextStanding = now + max(1, spent * 20)
  }

  private func sample(_ state: inout State, _ now: Double) -> LiveState {
    let running = board.current
    let moved = Int64(board.moved)
    let step = max(0, moved - state.moved)
    state.moved = moved
    state.total.sample(moved, at: now)
    var meters: [Int64: (meter: RateMeter, since: Double)] = [:]
    let lines = running.map { transfer -> LiveLine in
      let done = transfer.done
      var known = state.meters[transfer.seq] ?? (RateMeter(), now)
      known.meter.sample(done, at: now, most: step)
      meters[transfer.seq] = known
      var line = LiveLine(
        id: transfer.id, done: done, size: transfer.size, rate: known.meter.rate, retries: transfer.retries)
      line.age = now - known.since
      return line
    }
    state.meters = meters
    for (seq, bytes) in state.inFlight where meters[seq] == nil {
      state.landed = state.landed.adding(clamping: bytes)
    }
    state.inFlight = Dictionary(zip(running.map(\.seq), lines.map(\.done))) { $1 }
    var standing = state.standing
    standing.doneBytes = standing.doneBytes.adding(clamping: state.landed)
    var live = LiveState(
      running: lines, standing: standing, rate: state.total.rate, holds: board.holds,
      limit: board.limit)
    live.causes = state.failures.all.sorted { $0.count > $1.count }
    live.elapsed = now - state.startedAt
    live.doneBefore = state.doneBefore
    live.concurrency = board.concurrency
    live.hosts = Dictionary(board.hosts.map { ($0.host, $0.change) }) { $1 }
    return live
  }

  private func redraw(_ state: inout State, _ live: LiveState) {
    // Frames are of the moment: none waits for the one before.
    guard state.unwritten == 0 else { return }
    let (columns, rows) = size()
    let lines = LiveFrame.lines(live, columns: columns, rows: rows, isColoured: form.isColoured)
    var out = up(state.drawn, columns)
    for line in lines { out += line + "\u{1b}[K\n" }
    // What is left of a longer frame.
    out += "\u{1b}[J"
    put(out, &state, by: write)
    // Every line is kept short of the last column, whatever colours it has.
    state.drawn = lines.map { DisplayText.width(DisplayText.withoutColours($0)) }
  }

  /// What takes the drawn lines off the screen.
  private func erasure(_ state: inout State) -> String {
    guard !state.drawn.isEmpty else { return "" }
    defer { state.drawn = [] }
    return up(state.drawn, size().columns) + "\u{1b}[J"
  }

  /// To the first drawn line; a terminal made narrower since then shows them on more rows.
  private func up(_ drawn: [Int], _ columns: Int) -> String {
    let rows = drawn.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
    return rows == 0 ? "\r" : "\r\u{1b}[\(rows)A"
  }
}
