import Foundation
import JobModel
import SQLite
import Synchronization
import Testing

@testable import JobLedger

struct WriterTests {
  @Test func whatIsSubmittedIsCommittedWithoutABarrier() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for round in 0..<5 {
      writer.submit(.chunk(seq: 1, ChunkRecord(offset: Int64(round), length: 1, digest: "")))
      let start = ContinuousClock.now
      while try ledger.chunks(of: 1).count <= round, ContinuousClock.now - start < .seconds(5) {
        try await Task.sleep(for: .milliseconds(2))
      }
      #expect(try ledger.chunks(of: 1).count == round + 1)
    }
    try writer.close()
  }

  @Test func aBarrierCoversAllThatCameBeforeItInOrder() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile((0..<20).map { Entry(id: "t\($0)") })
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for seq in 1...20 as ClosedRange<Int64> {
        group.addTask {
          for round in 0..<50 as Range<Int64> {
            writer.submit(.chunk(seq: seq, ChunkRecord(offset: round, length: 1, digest: "")))
            if round % 10 == 9 {
              try await writer.barrier()
              let count = try ledger.chunks(of: seq).count
              #expect(count == Int(round) + 1)
            }
          }
          writer.submit(.noChunks(seq: seq))
          writer.submit(.chunk(seq: seq, ChunkRecord(offset: 9, length: 1, digest: "")))
          writer.submit(.chunk(seq: seq, ChunkRecord(offset: 10, length: 1, digest: "")))
          writer.submit(.lostChunks(seq: seq, offsets: [9, 11]))
          try await writer.barrier()
          #expect(try ledger.chunks(of: seq).map(\.offset) == [10])
        }
      }
      try await group.waitForAll()
    }
    try writer.close()
  }

  @Test func manyChangesAreGrouped() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let before = try ledger.read(CommitTally.count)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for index in 0..<20_000 as Range<Int64> {
      writer.submit(.chunk(seq: 1, ChunkRecord(offset: index, length: 1, digest: "0123abcd")))
    }
    try await writer.barrier()
    #expect(try ledger.chunks(of: 1).count == 20_000)
    let commits = try ledger.read(CommitTally.count) - before
    #expect(commits >= 1 && commits < 1000, "20,000 records took \(commits) commits")
    try writer.close()
  }

  @Test func closingCommitsTheRestAndABarrierAfterItDoesNotHang() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for index in 0..<100 as Range<Int64> {
      writer.submit(.chunk(seq: 1, ChunkRecord(offset: index, length: 1, digest: "")))
    }
    try writer.close()
    #expect(try ledger.chunks(of: 1).count == 100)
    let answered = Mutex(false)
    let late = Task {
      try? await writer.barrier()
      return true
    }
    let guardTask = Task {
      _ = await late.value
      answered.withLock { $0 = true }
    }
    for _ in 0..<200 where !answered.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(10)) }
    #expect(answered.withLock { $0 }, "a barrier after the end waits for ever")
    guardTask.cancel()
  }

  @Test func aFullDiskIsToldOnceAndEveryBarrierSaysIt() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    // No page more than there are: what a full disk is to SQLite.
    try ledger.pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA max_page_count = 1")
    }
    let failures = Mutex<[String]>([])
    let writer = LedgerWriter(ledger) { error in failures.withLock { $0.append("\(error)") } }
    writer.submit(.chunk(seq: 1, ChunkRecord(offset: 0, length: 1, digest: "")))
    try await writer.barrier()
    writer.submit(
      .chunk(seq: 1, ChunkRecord(offset: 2, length: 1, digest: String(repeating: "x", count: 100_000))))
    writer.submit(.chunk(seq: 1, ChunkRecord(offset: 1, length: 1, digest: "")))
    for _ in 0..<3 { await #expect(throws: LedgerError.self) { try await writer.barrier() } }
    writer.submit(.chunk(seq: 1, ChunkRecord(offset: 2, length: 1, digest: "")))
    await #expect(throws: LedgerError.self) { try await writer.barrier() }
    #expect(failures.withLock { $0.count } == 1)
    #expect(failures.withLock { $0.first }?.contains("can't be written") == true)
    #expect(throws: LedgerError.self) { try writer.close() }
    #expect(try ledger.chunks(of: 1).map(\.offset) == [0], "a failed group must leave nothing behind")
  }

  /// What is to follow a record is done once that is there, and never where it could not be made.
  @Test func workThatFollowsARecord() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let writer = LedgerWriter(ledger) { _ in }
    for offset in 0..<5 {
      writer.submit(.chunk(seq: 1, ChunkRecord(offset: Int64(offset), length: 1, digest: "")))
      let seen = try await writer.barrier { try ledger.chunks(of: 1).count }
      #expect(seen == offset + 1)
    }
    await #expect(throws: Failure(.ioError, "no")) {
      try await writer.barrier { throw Failure(.ioError, "no") }
    }
    try ledger.pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA max_page_count = 1")
    }
    writer.submit(
      .chunk(seq: 1, ChunkRecord(offset: 9, length: 1, digest: String(repeating: "x", count: 100_000))))
    let isDone = Mutex(false)
    await #expect(throws: LedgerError.self) {
      try await writer.barrier { isDone.withLock { $0 = true } }
    }
    #expect(!isDone.withLock { $0 })
    #expect(throws: LedgerError.self) { try writer.close() }
  }

  /// What is made on the writer's thread is committed before the work that follows it, however long many take; where it
  /// can't be made, only who wanted it hears of it; and nothing is made once nothing can be recorded.
  @Test func whatIsMadeGoesWithItsGroup() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let writer = LedgerWriter(ledger) { _ in }
    @Sendable func change(_ offset: Int, _ digest: String = "") -> LedgerChange {
      .chunk(seq: 1, ChunkRecord(offset: Int64(offset), length: 1, digest: digest))
    }
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for offset in 0..<24 {
        group.addTask {
          do {
            return try await writer.barrier(
              keepingStarts: offset % 2 == 0,
              making: {
                Thread.sleep(forTimeInterval: 0.004)
                if offset % 6 == 5 { throw Failure(.ioError, "\(offset)") }
                return change(offset)
              },
              then: { try ledger.chunks(of: 1).contains { $0.offset == Int64(offset) } })
          } catch let failure as Failure {
            return offset % 6 == 5 && failure.message == "\(offset)"
          }
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
    #expect(try ledger.chunks(of: 1).map(\.offset) == (0..<24).filter { $0 % 6 != 5 }.map(Int64.init))
    try ledger.pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA max_page_count = 1")
    }
    let made = Atomic<Int>(0)
    let done = Atomic<Int>(0)
    for _ in 0..<2 {
      await #expect(throws: LedgerError.self) {
        try await writer.barrier(
          making: {
            made.add(1, ordering: .relaxed)
            return change(99, String(repeating: "x", count: 100_000))
          }, then: { _ = done.add(1, ordering: .relaxed) })
      }
    }
    #expect(made.load(ordering: .relaxed) == 1 && done.load(ordering: .relaxed) == 0)
    #expect(throws: LedgerError.self) { try writer.close() }
  }

  /// Closing waits for who found no time in the last group.
  @Test func closingWaitsForWhatIsStillToBeMade() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let made = Tally()
    let all = Task {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for offset in 0..<8 as Range<Int64> {
          group.addTask {
            try await writer.barrier(
              making: {
                made.count.add(1, ordering: .relaxed)
                Thread.sleep(forTimeInterval: 0.02)
                return .chunk(seq: 1, ChunkRecord(offset: offset, length: 1, digest: ""))
              }, then: {})
          }
        }
        try await group.waitForAll()
      }
    }
    while made.count.load(ordering: .relaxed) == 0 { try await Task.sleep(for: .milliseconds(1)) }
    try await Task.sleep(for: .milliseconds(10))
    try writer.close()
    // Whoever came after the end is told so; whoever came before it has what it waited for.
    let result = await all.result
    let count = try ledger.chunks(of: 1).count
    #expect(made.count.load(ordering: .relaxed) == count)
    if count == 8 { try result.get() }
  }

  @Test func serversThatRestAreTold() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    #expect(try ledger.hosts().isEmpty)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let hosts = [
      HostStanding(host: "http://h", change: "opened", reason: "2 \"requests\"", since: 1.5),
      HostStanding(host: "https://[::1]:8", change: "slowed", reason: "HTTP 429", since: 2),
    ]
    writer.submit(.hosts(hosts))
    try await writer.barrier()
    #expect(try ledger.hosts() == hosts)
    writer.submit(.hosts([]))
    try writer.close()
    #expect(try ledger.hosts().isEmpty)
  }

  @Test func aLockedDatabaseIsWaitedFor() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let path = folder.database
    let held = Task.detached {
      let other = try Database(path: path)
      try other.transaction {
        try other.execute(sql: "INSERT INTO meta VALUES ('x', 'y')")
        Thread.sleep(forTimeInterval: 0.3)
      }
    }
    try await Task.sleep(for: .milliseconds(50))
    writer.submit(.state(seq: 1, .running))
    try await writer.barrier()
    _ = try await held.value
    #expect(try ledger.transfer(1)?.state == .running)
    try writer.close()
  }
}

private final class Tally: Sendable {
  let count = Atomic<Int>(0)
}
