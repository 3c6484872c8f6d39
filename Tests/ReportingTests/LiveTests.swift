import Dispatch
import JobLedger
import JobModel
import Synchronization
import Testing

@testable import Reporting
@testable import Transfers

@Suite struct LiveFrameTests {
  private static func state(_ ids: [String], unknown: Int = 0) -> LiveState {
    var standing = PlanStanding()
    standing.counts.completed = 3
    standing.counts.failed = 1
    standing.counts.paused = 2
    standing.counts.running = ids.count
    standing.counts.queued = 4
    standing.pausedReasons = ["user": 1, "retries": 1]
    standing.plannedBytes = 4 << 30
    standing.doneBytes = 1 << 30
    standing.unknownSizes = unknown
    standing.retries = 2
    let lines = ids.enumerated().map { index, id in
      LiveLine(
        id: id, done: 256 << 20, size: index == 1 ? nil : 1 << 30, rate: 12_582_912,
        retries: index == 0 ? 1 : 0)
    }
    return LiveState(running: lines, standing: standing, rate: 25_165_824)
  }

  @Test func `a frame at its usual width`() {
    let lines = LiveFrame.lines(
      Self.state(["deck", "video/long"]), columns: 110, rows: 24, isColoured: false)
    #expect(lines.count == 3)
    #expect(lines[0].hasPrefix("deck ") && lines[0].contains("[####") && lines[0].hasSuffix("1:04  1 retry"))
    #expect(lines[1].hasPrefix("video/long ") && lines[1].contains("256 MiB") && !lines[1].contains("%"))
    #expect(
      lines[2]
        == "3/12 done, 1 failed, 2 paused (retries 1, user 1)  37%  1.5/4.0 GiB  24.0 MiB/s  1:47 left  2 retries"
    )
  }

  @Test func `a narrow line has whole facts`() {
    let line = LiveFrame.lines(Self.state(["deck"]), columns: 40, rows: 24, isColoured: false)[0]
    #expect(line == "deck  25%  1:04  12.0 MiB/s  1 retry")
  }

  @Test func `what is unknown is not guessed`() {
    let total = LiveFrame.total(Self.state(["a"], unknown: 1))
    #expect(total.contains("/4.0+ GiB") && !total.contains("left"))
    #expect(LiveFrame.total(LiveState(running: [], standing: PlanStanding(), rate: nil)) == "0/0 done")
    var resting = LiveState(running: [], standing: PlanStanding(), rate: nil)
    resting.hosts = ["http://h": "no_network", "http://g": "opened"]
    #expect(
      LiveFrame.total(resting)
        == "0/0 done  http://g does not answer: left alone for a while  http://h can't be reached: no network"
    )
  }

  @Test func `the total tells how long it has taken and will take`() {
    var state = Self.state(["a"], unknown: 1)
    state.elapsed = 100
    state.standing.counts.completed = 30
    state.doneBefore = 11
    // 20 of 38 ended in 100 s, 11 of the done before.
    #expect(
      LiveFrame.total(state).hasPrefix(
        "30/38 done, 1 failed, 2 paused (retries 1, user 1)  81% of the transfers  "))
    #expect(LiveFrame.total(state).contains("1:40 elapsed  0:35 left"))
    state.standing.unknownSizes = 0
    #expect(LiveFrame.total(state).contains("  31%  1.3/4.0 GiB  24.0 MiB/s  1:40 elapsed  1:58 left"))
    // What is left waits for a window or a user, and nobody's rate tells for how long.
    state.running = []
    state.standing.counts.queued = 0
    #expect(!LiveFrame.total(state).contains("left"), "\(LiveFrame.total(state))")
  }

  @Test func `of very many transfers the slowest are shown`() {
    var state = Self.state((0..<20).map { "t\($0)" })
    state.standing.counts.queued = 10_000
    for index in 0..<20 { state.running[index].age = Double(index) }
    let lines = LiveFrame.lines(state, columns: 120, rows: 40, isColoured: false)
    #expect(lines.count == 6 && lines[4] == "… and 16 more", "\(lines)")
    #expect(lines[0].hasPrefix("t19 ") && lines[3].hasPrefix("t16 "))
    // What comes and goes within a second or two is counted alone.
    for index in 0..<20 { state.running[index].age = 0.5 }
    let quick = LiveFrame.lines(state, columns: 120, rows: 40, isColoured: false)
    #expect(quick.count == 2 && quick[0] == "20 in flight", "\(quick)")
  }

  @Test func `failures are told by their causes, and the total in as many lines as it needs`() {
    var state = Self.state(["a"])
    var tally = CauseTally()
    for index in 0..<12 {
      tally.add(
        Cause(code: "NOT_FOUND", host: "h", message: "HTTP 404 from https://h/…"), id: "f\(index)",
        example: "")
    }
    for index in 0..<8 {
      tally.add(Cause(code: "TIMEOUT", host: nil, message: "m\(index)"), id: "x", example: "m\(index)")
    }
    state.causes = tally.all
    state.elapsed = 100
    state.limit = Bandwidth(download: .bytesPerSecond(1_000_000), upload: .bytesPerSecond(1_000_000))
    let lines = LiveFrame.lines(state, columns: 80, rows: 24, isColoured: false)
    #expect(
      lines[1] == "12 failed: NOT_FOUND: HTTP 404 from https://h/…: f0, f1, f2 and 9 more", "\(lines)")
    #expect(lines[2] == "1 failed: TIMEOUT: m0: x" && lines.count == 6, "\(lines)")
    #expect(
      lines[4] == "3/11 done, 1 failed, 2 paused (retries 1, user 1)  31%  1.3/4.0 GiB  24.0 MiB/s",
      "\(lines)"
    )
    #expect(lines[5] == "1:40 elapsed  1:58 left  2 retries  limit 1 MB/s", "\(lines)")
    // A low screen has the total first of all.
    #expect(LiveFrame.lines(state, columns: 80, rows: 3, isColoured: false).count == 1)
  }

  @Test(arguments: [(1, 24), (5, 24), (12, 3), (20, 24), (40, 10), (60, 4), (80, 24), (81, 5), (200, 24)])
  func `no line is wider and no frame higher than the screen`(columns: Int, rows: Int) {
    let long = String(repeating: "x", count: 300)
    let ids = ["日本語のとても長い名前/ファイル.bin", "e\u{301}\u{1b}[2J\n", "👩‍👩‍👧👩‍👩‍👧", long]
    for count in 0...12 {
      let state = Self.state((0..<count).map { ids[$0 % ids.count] })
      let lines = LiveFrame.lines(state, columns: columns, rows: rows, isColoured: false)
      #expect(lines.count <= max(1, rows - 2))
      for line in lines {
        #expect(DisplayText.width(line) < max(2, columns))
        #expect(!line.unicodeScalars.contains { $0.value < 32 })
      }
    }
  }

  @Test func `more than fit are counted`() {
    let lines = LiveFrame.lines(
      Self.state((0..<10).map { "t\($0)" }), columns: 80, rows: 8, isColoured: false)
    #expect(lines.count == 6)
    #expect(lines[3] == "… and 7 more" && lines[2].hasPrefix("t2 "), "\(lines)")
  }

  @Test func `colours add no columns`() {
    let plain = LiveFrame.lines(Self.state(["a", "b"]), columns: 100, rows: 24, isColoured: false)
    let coloured = LiveFrame.lines(Self.state(["a", "b"]), columns: 100, rows: 24, isColoured: true)
    let stripped = coloured.map { line in
      line.replacing("\u{1b}[32m", with: "").replacing("\u{1b}[1m", with: "").replacing("\u{1b}[0m", with: "")
    }
    #expect(stripped == plain && coloured != plain)
  }

  @Test func `a rate follows, and leaps that nothing moved do not count`() throws {
    var meter = RateMeter()
    meter.sample(0, at: 0)
    #expect(meter.rate == nil)
    for step in 1...100 { meter.sample(Int64(step) * 200, at: Double(step) * 0.2) }
    #expect(abs(try #require(meter.rate) - 1000) < 1)
    meter.sample(20_000 + 1_000_000, at: 20.2, most: 200)
    #expect(abs(try #require(meter.rate) - 1000) < 1)
    for step in 1...200 { meter.sample(1_020_000, at: 20.2 + Double(step) * 0.2) }
    #expect(try #require(meter.rate) < 1)
  }
}

@Suite struct LiveViewTests {
  /// A view whose output and time are the test's.
  private final class Stage: Sendable {
    let board = ProgressRegistry()
    let out = Mutex("")
    let asked = Atomic<Int>(0)
    let columns = Atomic<Int>(80)

    func view(_ form: ProgressForm) -> LiveView {
      LiveView(
        form, board: board,
        standing: { [self] in
          asked.add(1, ordering: .relaxed)
          var standing = PlanStanding()
          standing.counts.queued = 2
          return standing
        }, size: { [self] in (columns.load(ordering: .relaxed), 24) },
        write: { [self] text in out.withLock { $0 += text } })
    }

    func take(_ view: LiveView) -> String {
      view.flush()
      return out.withLock { text in
        defer { text = "" }
        return text
      }
    }
  }

  private let live = ProgressForm(isEnabled: true, isTerminal: true, term: "xterm", noColor: nil)
  private let plain = ProgressForm(isEnabled: true, isTerminal: false, term: "xterm", noColor: nil)

  @Test(
    arguments: [
      (true, true, "xterm", nil, ProgressForm.Kind.live), (true, true, "xterm", "", .live),
      (true, true, "xterm", "1", .live), (true, true, "dumb", nil, .plain), (true, true, nil, nil, .plain),
      (true, true, "", nil, .plain), (true, false, "xterm", nil, .plain), (false, true, "xterm", nil, .none),
    ] as [(Bool, Bool, String?, String?, ProgressForm.Kind)])
  func `where progress goes`(
    isEnabled: Bool, isTerminal: Bool, term: String?, noColor: String?, kind: ProgressForm.Kind
  ) {
    let form = ProgressForm(isEnabled: isEnabled, isTerminal: isTerminal, term: term, noColor: noColor)
    #expect(form.kind == kind)
    #expect(form.isColoured == (form.kind == .live && (noColor ?? "").isEmpty || !isEnabled))
  }

  @Test func `live lines are redrawn in place and taken away at the end`() {
    let stage = Stage()
    let view = stage.view(live)
    let transfer = LiveTransfer(seq: 1, id: "deck", direction: .download)
    transfer.setSize(1000)
    stage.board.enter(transfer)
    view.tick(now: 0)
    let first = stage.take(view)
    #expect(first.hasPrefix("\rdeck ") && first.hasSuffix("\u{1b}[K\n\u{1b}[J"))
    view.tick(now: 0.1)
    #expect(stage.take(view) == "")
    transfer.add(500)
    stage.board.count(500)
    view.tick(now: 0.25)
    let second = stage.take(view)
    #expect(second.hasPrefix("\r\u{1b}[2Adeck ") && second.contains("50%"))
    stage.board.leave(1)
    view.tick(now: 0.5)
    #expect(stage.take(view).hasPrefix("\r\u{1b}[2A\u{1b}[1m0/2 done"))
    view.note("warning: something\n")
    #expect(stage.take(view) == "\r\u{1b}[1A\u{1b}[Jwarning: something\n")
    view.tick(now: 0.51)
    #expect(stage.take(view).hasPrefix("\r\u{1b}[1m0/2 done"))
    view.end()
    #expect(stage.take(view) == "\r\u{1b}[1A\u{1b}[J")
    view.tick(now: 9)
    #expect(stage.take(view) == "")
  }

  @Test func `the total keeps what has landed until the plan is counted again`() {
    let stage = Stage()
    let view = stage.view(live)
    let transfer = LiveTransfer(seq: 1, id: "deck", direction: .download)
    stage.board.enter(transfer)
    view.tick(now: 0)
    transfer.add(500)
    view.tick(now: 0.3)
    stage.board.leave(1)
    for now in [0.6, 0.9] {
      _ = stage.take(view)
      view.tick(now: now)
      #expect(stage.take(view).contains("0/2 done  500 B"))
    }
    // From here on the plan's standing has it.
    view.tick(now: 1.2)
    #expect(!stage.take(view).contains("500 B"))
  }

  @Test func `a terminal made narrower is redrawn from the right row`() {
    let stage = Stage()
    let view = stage.view(live)
    stage.board.enter(LiveTransfer(seq: 1, id: String(repeating: "n", count: 200), direction: .upload))
    view.tick(now: 0)
    _ = stage.take(view)
    stage.columns.store(40, ordering: .relaxed)
    view.tick(now: 1)
    // The row of 79 columns takes two now.
    #expect(stage.take(view).hasPrefix("\r\u{1b}[3A"))
  }

  @Test func `elsewhere a plain line comes at the start and each half minute`() {
    let stage = Stage()
    let view = stage.view(plain)
    for step in 0...650 { view.tick(now: 100 + Double(step) / 10) }
    view.end()
    let lines = stage.take(view).split(separator: "\n")
    #expect(
      lines == ["started: 0/2 done", "0/2 done  0 B/s  0:30 elapsed", "0/2 done  0 B/s  1:00 elapsed"])
  }

  @Test func `no progress says nothing`() {
    let stage = Stage()
    let view = stage.view(ProgressForm(isEnabled: false, isTerminal: true, term: "xterm", noColor: nil))
    for step in 0..<100 { view.tick(now: Double(step)) }
    view.end()
    #expect(stage.take(view) == "" && stage.asked.load(ordering: .relaxed) == 0)
  }

  @Test func `the plan's standing is asked at most once a second`() {
    let stage = Stage()
    let view = stage.view(live)
    for step in 0...100 { view.tick(now: Double(step) / 10) }
    #expect((9...11).contains(stage.asked.load(ordering: .relaxed)))
  }

  /// Ctrl-S: who tells of something goes on, and what was not shown in time is not shown late.
  @Test func `nobody waits for a terminal that stands still`() {
    let (stage, goesOn) = (Stage(), DispatchSemaphore(value: 0))
    var standing = PlanStanding()
    standing.counts.queued = 2
    let view = LiveView(
      live, board: stage.board, standing: { [standing] in standing }, size: { (80, 24) },
      write: { text in
        _ = goesOn.wait(timeout: .now() + 10)
        stage.out.withLock { $0 += text }
      })
    view.tick(now: 0)
    view.record(.state(id: "a", from: .running, to: .failed, failure: Failure(.notFound, "gone")))
    view.note("first\n")
    for step in 1...9 { view.tick(now: Double(step)) }
    let shown = stage.out.withLock { $0 }
    #expect(shown == "")
    for _ in 0..<9 { goesOn.signal() }
    #expect(stage.take(view).hasSuffix("\u{1b}[1A\u{1b}[Jfirst\n"), "one frame, and the note over it")
  }
}
