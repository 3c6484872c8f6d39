import JobLedger
import JobModel
import Testing

@testable import Transfers

/// The one writer of a transfer's state and progress.
struct TransferRecordTests {
  /// A record of a download at work, and the bench that holds it.
  private func begun() async throws -> (bench: PlanBench, record: TransferRecord, stop: StopFlag) {
    let bench = try PlanBench([.init(id: "a")])
    let stop = StopFlag()
    let record = TransferRecord(try bench.transfer(1), context: bench.context, stop: stop)
    record.begin()
    return (bench, record, stop)
  }

  private func chunk(_ offset: Int64) -> ChunkRecord { ChunkRecord(offset: offset, length: 10, digest: "d") }

  @Test(
    arguments: [
      (.finished, .completed), (.settled(.adopted), .upToDate(.adopted)),
      (.skipped(.exists), .skipped(.exists)),
      (.failed(Failure(.notFound, "no")), .failed), (.failed(Failure(.timeout, "late")), .paused(.retries)),
      (.failed(Failure(.diskFull, "full")), .paused(.disk)), (.stopped, .paused(.interrupted)),
    ] as [(TransferEnd, TransferState)]) func anEndIsOnRecord(_ end: TransferEnd, _ state: TransferState)
    async throws
  {
    let (bench, record, _) = try await begun()
    bench.pass(7)
    record.end(end)
    try await bench.record()
    let known = try bench.transfer(1)
    #expect(known.state == state && record.state == state)
    #expect(known.progress.attempts == 1 && known.progress.duration == 7)
    #expect(known.progress.endedAt == bench.now && known.progress.startedAt == PlanBench.began)
    #expect((known.progress.completedAt != nil) == (end == .finished))
    if case .failed(let failure) = end { #expect(known.progress.failure?.code == failure.code) }
    let changes = bench.events.compactMap { event -> [TransferState]? in
      if case .state(_, let from, let to, _, _) = event { [from, to] } else { nil }
    }
    #expect(changes == [[.queued(nil), .running], [.running, state]], "each change is told of once")
  }

  @Test func aStopIsWhatWasAskedFor() async throws {
    let (bench, record, stop) = try await begun()
    stop.set(.cancel)
    record.end(.stopped)
    try await bench.record()
    #expect(try bench.transfer(1).state == .canceled)
  }

  /// `retry --from-scratch` forgets what is complete as well; a stop of any other kind keeps it.
  @Test(arguments: [.retry(fromScratch: true), .hold(.interrupted), .cancel] as [TransferEvent])
  func onlyFromScratchForgetsACompletion(_ event: TransferEvent) async throws {
    let (bench, record, stop) = try await begun()
    record.note(.completed(at: 7))
    record.note(.attaching(AttachRecord(key: "k", identity: "i", request: nil)))
    record.keep(chunk(0))
    stop.set(event)
    record.end(.stopped)
    try await bench.record()
    let known = try bench.transfer(1)
    let isKept = event != .retry(fromScratch: true)
    #expect((known.progress.completedAt != nil) == isKept && (known.progress.attach != nil) == isKept)
    #expect(known.hasChunks == isKept && (known.progress.movedBecause == .asked) == !isKept)
    #expect((known.state == .queued(nil)) == !isKept)
  }

  @Test func aStateThatDoesNotApplyChangesNothing() async throws {
    let (bench, record, _) = try await begun()
    record.end(.finished)
    let told = bench.events.count
    #expect(record.take(.start).isEmpty && record.state == .completed && bench.events.count == told)
  }

  /// The part file is on record with the first of its chunks.
  @Test func aRestartForgetsChunksAndTheirFile() async throws {
    let (bench, record, _) = try await begun()
    let part = PartRecord(tag: "t", inode: 1, folder: 2, owner: 3)
    record.keep(chunk(0), in: part)
    record.record(chunk(10), in: part, index: 1, completing: 20)
    record.note(.moved(20))
    try await bench.record()
    #expect(try bench.ledger.chunks(of: 1).map(\.offset) == [0, 10] && bench.ledger.part(of: 1) == part)
    let chunks = bench.events.compactMap { if case .chunk(_, let index, _, _) = $0 { index } else { nil } }
    #expect(chunks == [1], "one that is not whole yet is not told of")
    record.restart(.contentChanged)
    record.save()
    try await bench.record()
    #expect(try bench.ledger.chunks(of: 1).isEmpty && bench.ledger.part(of: 1) == nil && !record.hasChunks)
    #expect(try bench.transfer(1).progress.discarded == 20)
  }

  @Test func theFirstReasonToMoveStays() async throws {
    let (bench, record, _) = try await begun()
    record.noteMove()
    record.fallen = .damaged
    record.noteMove()
    #expect(record.progress.movedBecause == .new)
    let fallen = TransferRecord(try bench.transfer(1), context: bench.context, stop: StopFlag())
    fallen.fallen = .damaged
    fallen.noteMove()
    #expect(fallen.progress.movedBecause == .damaged)
  }

  /// Each time, as counts are to be as true after a kill as what is recorded with them.
  @Test func progressIsSavedAsItIs() async throws {
    let (bench, record, _) = try await begun()
    for moved in [5, 10] as [Int64] {
      record.note(.moved(5))
      record.save()
      try await bench.record()
      #expect(try bench.transfer(1).progress.transferred == moved)
    }
  }

  @Test(arguments: [("boot", false), ("other", true), (nil, true)] as [(String?, Bool)])
  func whatAnotherBootCompletedIsUnverified(_ boot: String?, _ isUnverified: Bool) async throws {
    let (bench, _, _) = try await begun()
    try await bench.alter(1) { progress in
      (progress.completedAt, progress.bootID) = (1, boot)
    }
    let record = TransferRecord(try bench.transfer(1), context: bench.context, stop: StopFlag())
    #expect(record.isUnverified == isUnverified)
  }
}
