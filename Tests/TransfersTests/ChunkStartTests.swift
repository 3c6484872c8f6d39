import JobModel
import Synchronization
import Testing

@testable import Transfers

/// Which chunks of uploads may be begun.
struct ChunkStartTests {
  private static let mebibyte: Int64 = 1 << 20

  /// Chunks of a MiB of which `begun` are under way, `taken` were taken in `seconds` each, one after the other.
  private func start(begun: Int = 0, taken: Int = 0, seconds: Double = 0.1) -> ChunkStart {
    var (start, now) = (ChunkStart(at: 100), 100.0)
    for _ in 0..<taken {
      start.begin(Self.mebibyte, at: now)
      now += seconds
      start.end(Self.mebibyte, isTaken: true, at: now)
    }
    for _ in 0..<begun { start.begin(Self.mebibyte, at: now) }
    return start
  }

  struct Cell: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var begun = 0
    var taken = 0
    var bytes: Int64 = 1 << 20
    var limit: Double?
    var after: Double
    var may: Bool
  }

  @Test(arguments: [
    Cell(testDescription: "the first, whatever its size", bytes: 1 << 40, limit: 1, after: 0, may: true),
    Cell(testDescription: "another before one is taken", begun: 1, after: 0.5, may: false),
    Cell(
      testDescription: "two would take 0.2 s of 0.25 s", begun: 1, taken: 2, after: 0.25, may: false),
    Cell(testDescription: "two would take 0.2 s of 0.45 s", begun: 1, taken: 2, after: 0.45, may: true),
    Cell(testDescription: "after a second, as many as policies allow", begun: 40, after: 1, may: true),
    Cell(testDescription: "a clock that was set back", begun: 40, after: -1, may: true),
    Cell(
      testDescription: "more than two seconds' worth of the limit", begun: 2, limit: 1_500_000, after: 5,
      may: false),
    Cell(testDescription: "less than that", begun: 1, limit: 1_500_000, after: 5, may: true),
    Cell(
      testDescription: "what is begun does not come on", begun: 2, limit: 1_500_000, after: 14, may: true),
  ]) func table(_ cell: Cell) {
    let start = start(begun: cell.begun, taken: cell.taken)
    #expect(start.mayBegin(cell.bytes, limit: cell.limit, at: 100 + cell.after) == cell.may)
  }

  /// One that failed brought nothing.
  @Test func whatFailedIsNoRate() {
    var start = ChunkStart(at: 100)
    start.begin(Self.mebibyte, at: 100)
    start.end(Self.mebibyte, isTaken: false, at: 100.1)
    start.begin(Self.mebibyte / 2, at: 100.1)
    #expect(!start.mayBegin(Self.mebibyte, limit: nil, at: 100.9))
    #expect(start.mayBegin(Self.mebibyte / 2, limit: nil, at: 100.1), "a MiB takes no time to speak of")
  }
}

/// Chunks that wait for their turn.
struct ChunkTurnsTests {
  private let turns = ChunkTurns()
  private let log = Log()
  private static let mebibyte: Int64 = 1 << 20

  private final class Log: Sendable { let began = Mutex<[Int]>([]) }

  /// In the order of coming, each server's apart; who is cancelled leaves the line.
  @Test func inTheOrderOfComing() async throws {
    func begin(_ number: Int, at origin: String = "http://h") -> Task<Void, any Error> {
      Task {
        try await turns.begin(Self.mebibyte, at: origin, limit: nil, now: { 100 })
        log.began.withLock { $0.append(number) }
      }
    }
    try await begin(0).value
    try await begin(1, at: "http://other").value
    var waiting: [Task<Void, any Error>] = []
    for number in 2...4 {
      waiting.append(begin(number))
      while turns.waiting(at: "http://h") < number - 1 { await Task.yield() }
    }
    #expect(log.began.withLock { $0 } == [0, 1])
    waiting[0].cancel()
    await #expect(throws: CancellationError.self) { try await waiting[0].value }
    for (number, task) in zip(3...4, waiting.dropFirst()) {
      turns.end(Self.mebibyte, at: "http://h", isTaken: true, now: 100)
      try await task.value
      #expect(log.began.withLock { $0.last } == number)
    }
    #expect(turns.waiting(at: "http://h") == 0)
  }

  /// Nobody waits for ever for a chunk that does not end.
  @Test(.timeLimit(.minutes(10))) func theFirstSecondPasses() async throws {
    let now = Mutex(100.0)
    let clock: @Sendable () -> Double = { now.withLock { $0 } }
    try await turns.begin(Self.mebibyte, at: "http://h", limit: nil, now: clock)
    let waiting = Task { try await turns.begin(Self.mebibyte, at: "http://h", limit: nil, now: clock) }
    while turns.waiting(at: "http://h") == 0 { await Task.yield() }
    now.withLock { $0 = 102 }
    try await waiting.value
  }

  /// However often a line fills and empties, one watcher looks after it.
  @Test(.timeLimit(.minutes(10))) func oneWatcherALine() async throws {
    let looks = Mutex(0)
    let clock: @Sendable () -> Double = {
      looks.withLock { $0 += 1 }
      return 100
    }
    func waiter() async -> Task<Void, any Error> {
      let waiting = Task { try await turns.begin(Self.mebibyte, at: "http://h", limit: nil, now: clock) }
      while turns.waiting(at: "http://h") == 0 { await Task.yield() }
      return waiting
    }
    try await turns.begin(Self.mebibyte, at: "http://h", limit: nil, now: clock)
    for _ in 0..<50 {
      let waiting = await waiter()
      turns.end(Self.mebibyte, at: "http://h", isTaken: true, now: 100)
      try await waiting.value
    }
    let last = await waiter()
    let before = looks.withLock { $0 }
    while looks.withLock({ $0 }) < before + 2 { try await Task.sleep(for: .milliseconds(10)) }
    try await Task.sleep(for: .milliseconds(100))
    let after = looks.withLock { $0 }
    #expect(after < before + 25)
    turns.end(Self.mebibyte, at: "http://h", isTaken: true, now: 100)
    try await last.value
  }
}
