import Dispatch
import Glibc
package import JobModel
import Locks
import Posix
import SQLite

/// Records changes in groups, on a thread of its own: what is submitted is committed within 50 ms.
///
/// A lost group only repeats work, so nobody waits for a commit but who must: `barrier` returns when all that was
/// submitted before it is on disk.
package final class LedgerWriter: Sendable {
  private struct Waiter {
    /// Makes what is to be committed with the group that it waits for.
    let make: (@Sendable () throws -> LedgerChange)?
    /// It wants all that was submitted on disk.
    let isWhole: Bool
    /// It does more than to go on.
    let works: Bool
    /// Called with the failure of what it waited for, if it failed.
    let goOn: @Sendable ((any Error)?) -> Void
  }

  private struct State {
    var pending: [LedgerChange] = []
    var waiters: [Waiter] = []
    var isUrgent = false
    var isClosing = false
    var hasEnded = false
    var error: (any Error)?
    var isBusy: @Sendable (_ recently: Double) -> Bool = { _ in true }
    var companions: [@Sendable () -> LedgerChange?] = []
  }

  /// Seconds that what nobody waits for waits for company at most, and their share of the time since the beginning.
  private static let (longestPatience, patience) = (0.02, 0.02)
  /// Seconds that waiters wait for company: a group costs a sync of the disk, however many share it.
  private static let longestGathering = 0.01
  /// Microseconds.
  private static let gatheringStep: UInt32 = 500
  /// Seconds.
  private static let shortestIdling = 0.0005
  private static let mostKept = 2
  /// Seconds of making files before a group; who finds no time then waits for the next one.
  private static let longestMaking = 0.01
  /// Seconds of work behind a group; on a slow file system the rest goes elsewhere, and the next group is not late.
  private static let longestWork = 0.02

  /// Secrets that are known in this process: none of them is recorded.
  package let mask = SecretMask()
  private let ledger: JobLedger
  private let state = Locked(State())
  private let wake = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)
  private let onFailure: @Sendable (any Error) -> Void

  /// - Parameter onFailure: called once, when a commit fails; nothing is recorded from then on.
  package init(_ ledger: JobLedger, onFailure: @escaping @Sendable (any Error) -> Void) {
    self.ledger = ledger
    self.onFailure = onFailure
    DedicatedThread.start(name: "haul-ledger") { [self] in run() }
  }

  /// Says who could bring waiters company: while they are not busy, and wait themselves, nobody waits for them.
  ///
  /// - Parameter isBusy: whether they are, or were some seconds ago.
  package func gathers(while isBusy: @escaping @Sendable (_ recently: Double) -> Bool) {
    state.withLock { $0.isBusy = isBusy }
  }

  /// Has each group carry one more change, which is made as the group is taken: what led to the others is on record with them.
  ///
  /// - Parameter make: called on the ledger's thread; nil where there is nothing to record.
  package func alongside(_ make: @escaping @Sendable () -> LedgerChange?) {
    state.withLock { $0.companions.append(make) }
  }

  package func submit(_ change: LedgerChange) {
    let first = state.withLock { state in
      state.pending.append(change)
      return state.pending.count == 1
    }
    if first { wake.signal() }
  }

  /// Waits until everything that was submitted so far is committed and synced.
  ///
  /// - Parameter keepingStarts: what says only that a transfer runs may stay behind for some milliseconds: mostly the
  ///   next group says that it has ended.
  package nonisolated(nonsending) func barrier(keepingStarts: Bool = false) async throws {
    try await wait(keepingStarts, nil, works: false) {}
  }

  /// The same; then does the work on the ledger's thread, before it returns: what is short and may not be done sooner
  /// is done there without a way through another thread.
  ///
  /// - Parameter make: makes a last change to be committed, on that thread, too; what it throws is thrown here, and
  ///   nothing is done.
  package nonisolated(nonsending) func barrier<Value: Sendable>(
    keepingStarts: Bool = false, making make: (@Sendable () throws -> LedgerChange)? = nil,
    then work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await wait(keepingStarts, make, works: true, work)
  }

  private nonisolated(nonsending) func wait<Value: Sendable>(
    _ keepingStarts: Bool, _ make: (@Sendable () throws -> LedgerChange)?, works: Bool,
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let waiter = Waiter(make: make, isWhole: !keepingStarts, works: works) { failure in
        continuation.resume(with: Result { if let failure { throw failure } else { try work() } })
      }
      let (failed, isFirst) = state.withLock { state -> ((any Error)?, Bool) in
        if let error = state.error { return (error, false) }
        if state.hasEnded {
          return (LedgerError.unwritable(path: ledger.path, detail: "it is closed"), false)
        }
        state.waiters.append(waiter)
        defer { state.isUrgent = true }
        return (nil, !state.isUrgent)
      }
      if let failed { waiter.goOn(failed) } else if isFirst { wake.signal() }
    }
  }

  /// Commits what is left and ends the thread.
  package func close() throws {
    state.withLock { $0.isClosing = true }
    wake.signal()
    ended.wait()
    if let error = state.withLock({ $0.error }) { throw error }
  }

  private func run() {
    // How many waited for the last group: where many do, as many more come in a moment.
    var crowd = 0
    // Seconds that the last group's commit took.
    var cost = 0.0
    // Groups in a row that starts were left out of.
    var kept = 0
    let began = SystemClock.uptime
    while true {
      wake.wait()
      // A little patience makes groups of what comes in quick succession; waiters end it.
      let idle = state.withLock { !$0.isUrgent && !$0.isClosing }
      if idle { _ = wake.wait(timeout: .now() + patience(since: began)) }
      gather(crowd, cost)
      // What was said so far goes with this group.
      while wake.wait(timeout: .now()) == .success {}
      let (made, waiters) = make(takeWaiters())
      // With what was submitted while files were made.
      let (changes, companions, isClosing) = state.withLock { state in
        var changes = Self.lasting(state.pending)
        state.pending = []
        if !waiters.isEmpty, !waiters.contains(where: \.isWhole), !state.isClosing, kept < Self.mostKept {
          state.pending = changes.filter(\.isStart)
          changes.removeAll(where: \.isStart)
        }
        kept = state.pending.isEmpty ? 0 : kept + 1
        return (changes, state.companions, state.isClosing)
      }
      if kept > 0 { wake.signal() }
      let besides = changes.isEmpty && made.isEmpty ? [] : companions.compactMap { $0() }
      cost = commit(changes + made + besides, waiters)
      if !changes.isEmpty || !made.isEmpty { crowd = waiters.count }
      // Closing waits for what was submitted while the last group was written.
      let isDone = state.withLock { state in
        guard isClosing, state.pending.isEmpty, state.waiters.isEmpty else { return false }
        state.hasEnded = true
        return true
      }
      if isDone {
        ended.signal()
        return
      }
      if isClosing { wake.signal() }
    }
  }

  /// Short at first: of a run that is killed soon, what waits for company is much of all that it did.
  private func patience(since began: Double) -> Double {
    min(Self.longestPatience, (SystemClock.uptime - began) * Self.patience)
  }

  /// Waits for as many as came last time, or as long as a group costs, while somebody could bring more.
  private func gather(_ crowd: Int, _ cost: Double) {
    guard crowd > 1 else { return }
    let isBusy = state.withLock { $0.isBusy }
    let end = DispatchTime.now() + min(Self.longestGathering, max(Double(crowd) * 0.0005, cost))
    while DispatchTime.now() < end, isBusy(max(Self.shortestIdling, cost)) { usleep(Self.gatheringStep) }
  }

  private func takeWaiters() -> [Waiter] {
    state.withLock { state in
      defer {
        state.waiters = []
        state.isUrgent = false
      }
      return state.waiters
    }
  }

  /// Makes what waiters have still to add to the group.
  ///
  /// - Returns: what was made, and who is to have the group behind them.
  private func make(_ waiters: [Waiter]) -> ([LedgerChange], [Waiter]) {
    guard waiters.contains(where: { $0.make != nil }), state.withLock({ $0.error }) == nil else {
      return ([], waiters)
    }
    let end = DispatchTime.now() + Self.longestMaking
    var changes: [LedgerChange] = []
    var (ready, late): ([Waiter], [Waiter]) = ([], [])
    for waiter in waiters {
      guard let make = waiter.make else {
        ready.append(waiter)
        continue
      }
      guard DispatchTime.now() < end else {
        late.append(waiter)
        continue
      }
      do {
        changes.append(try make())
        ready.append(waiter)
      } catch {
        waiter.goOn(error)
      }
    }
    guard !late.isEmpty else { return (changes, ready) }
    state.withLock { state in
      state.waiters.insert(contentsOf: late, at: 0)
      state.isUrgent = true
    }
    wake.signal()
    return (changes, ready)
  }

  /// - Returns: seconds that the group took to be on disk.
  private func commit(_ changes: [LedgerChange], _ waiters: [Waiter]) -> Double {
    let began = SystemClock.uptime
    var failure = state.withLock { $0.error }
    if failure == nil, !changes.isEmpty {
      do {
        try ledger.write { db in
          let common = CommonStatements(db)
          for change in changes { try apply(change, db, common) }
        }
      } catch {
        failure = error
        state.withLock { $0.error = error }
        onFailure(error)
      }
    }
    let cost = SystemClock.uptime - began
    for waiter in waiters where !waiter.works { waiter.goOn(failure) }
    let end = DispatchTime.now() + Self.longestWork
    for waiter in waiters where waiter.works {
      if DispatchTime.now() < end {
        waiter.goOn(failure)
      } else {
        DispatchQueue.global().async { [failure] in waiter.goOn(failure) }
      }
    }
    return cost
  }

  /// The changes of a group without those that a later one of the same transfer writes over.
  static func lasting(_ changes: [LedgerChange]) -> [LedgerChange] {
    var changes = changes
    var (progress, states): ([Int64: Int], Set<Int64>) = ([:], [])
    var isKept = Array(repeating: true, count: changes.count)
    for index in changes.indices.reversed() {
      switch changes[index] {
      case .progress(let seq, _, let isWhole):
        guard let last = progress[seq] else {
          progress[seq] = index
          continue
        }
        isKept[index] = false
        if isWhole, case .progress(_, let value, false) = changes[last] {
          changes[last] = .progress(seq: seq, value)
        }
      // What is news marks the transfer as touched, whatever follows.
      case .state(let seq, let state): isKept[index] = states.insert(seq).inserted || state.isNews
      default: break
      }
    }
    return changes.indices.lazy.filter { isKept[$0] }.map { changes[$0] }
  }

  private func apply(_ change: LedgerChange, _ db: Database, _ common: CommonStatements) throws {
    switch change {
    case .state(let seq, let state):
      try common.state().run { row in
        row.add(state.word)
        row.add(state.reason)
        row.add(state.isNews)
        row.add(seq)
      }
    case .progress(let seq, let progress, true):
      try ProgressRow.write(seq, progress.without(mask), common.progress())
    case .progress(let seq, let progress, false):
      let shown = progress.without(mask)
      try ProgressRow.writeState(seq, shown, common.progressState())
      if db.changesCount == 0 { try ProgressRow.write(seq, shown, common.progress()) }
    case .chunk(let seq, let chunk):
      try common.chunk().run { row in
        row.add(seq)
        row.add(chunk.offset)
        row.add(chunk.length)
        row.add(chunk.digest)
        row.add(chunk.receipt)
        row.add(chunk.attempts)
      }
    case .noChunks(let seq):
      try db.cachedStatement(sql: "DELETE FROM chunk WHERE transfer = ?").execute(arguments: [seq])
      try db.cachedStatement(sql: "DELETE FROM part_file WHERE transfer = ?").execute(arguments: [seq])
    case .part(let seq, let part):
      try db.cachedStatement(
        sql: "INSERT OR REPLACE INTO part_file (transfer, tag, inode, folder, owner) VALUES (?,?,?,?,?)"
      ).execute(
        arguments: [
          seq, part.tag, Int64(bitPattern: part.inode), Int64(bitPattern: part.folder), Int64(part.owner),
        ])
    case .lostChunks(let seq, let offsets):
      let statement = try db.cachedStatement(sql: "DELETE FROM chunk WHERE transfer = ? AND \"offset\" = ?")
      for offset in offsets { try statement.execute(arguments: [seq, offset]) }
    case .synced(let completions):
      for one in completions {
        // The kernel tells once that the disk refused a file: a later sync that succeeds proves nothing.
        try db.run(
          """
          UPDATE progress SET synced = 1, boot_id = NULL
          WHERE transfer = ? AND completed_at = ? AND boot_id IS NOT ?
          """
        ) { row in
          row.add(one.seq)
          row.add(one.completedAt)
          row.add(TransferProgress.noBoot)
        }
      }
    case .gone(let one):
      try db.run("UPDATE progress SET boot_id = NULL WHERE transfer = ? AND completed_at = ?") { row in
        row.add(one.seq)
        row.add(one.completedAt)
      }
    case .unsyncable(let one, let state, let failure, let now):
      try ProgressRow.writeLost(one, failure.without(mask), at: now, db)
      guard db.changesCount > 0 else { return }
      try apply(.state(seq: one.seq, state), db, common)
    case .fileSystems(let seq, let home, let away):
      try db.cachedStatement(
        sql: "INSERT OR REPLACE INTO file_systems (transfer, home, away) VALUES (?,?,?)"
      ).execute(arguments: [seq, home, away])
    case .intent(let seq, let intent):
      try db.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO session_intent
            (transfer, asked_at, last_asked_at, "key", size, content_type, chunk_size)
          VALUES (?,?,?,?,?,?,?)
          """
      ).execute(arguments: [
        seq, intent.askedAt ?? 0, intent.lastAskedAt ?? 0, intent.key, intent.size, intent.contentType,
        intent.chunkSize,
      ])
    case .answered(let seq, let intent):
      try db.cachedStatement(
        sql: "DELETE FROM session_intent WHERE transfer = ? AND asked_at = ? AND \"key\" = ?"
      ).execute(arguments: [seq, intent.askedAt ?? 0, intent.key])
    case .removed(let seq):
      try RemovedSums.add(seq, db)
      try db.cachedStatement(sql: "DELETE FROM transfer WHERE seq = ?").execute(arguments: [seq])
    case .abandoned(let seq, let session): try AbandonedSession.record(session, of: seq, db)
    case .ended(let seq, let session): try AbandonedSession.forget(session, of: seq, db)
    case .diagnostic(let run, let told):
      let diagnostic = told.without(mask)
      try db.cachedStatement(
        sql: "INSERT INTO diagnostic (run, severity, message, place, hint, subjects) VALUES (?,?,?,?,?,?)"
      ).execute(arguments: [
        run, diagnostic.severity.rawValue, diagnostic.message, diagnostic.mark?.text, diagnostic.hint,
        DiagnosticSubjects.json(diagnostic.subject.map { [$0] } ?? []),
      ])
    case .diagnosticCount(let run, let first, let message, let count, let ids):
      var told = first
      told.message = message
      let shown = told.without(mask).message
      try db.cachedStatement(
        sql: """
          UPDATE diagnostic SET count = ?, subjects = ?, message = ? WHERE number = (
            SELECT max(number) FROM diagnostic WHERE run = ? AND message IN (?, ?) AND subjects ->> 0 = ?)
          """
      ).execute(arguments: [
        count, DiagnosticSubjects.json(ids), shown, run, first.without(mask).message, shown, first.subject,
      ])
    case .events(let run, let count):
      try db.cachedStatement(sql: "UPDATE run SET events = ? WHERE number = ?").execute(arguments: [
        count, run,
      ])
    case .moved(let run, let bytes, let now):
      try db.cachedStatement(
        sql: """
          UPDATE attempt SET bytes_transferred = max(bytes_transferred, ?)
          WHERE run = ? AND ended_at IS NULL
          """
      ).execute(arguments: [bytes, run])
      try db.cachedStatement(
        sql: """
          INSERT INTO meta VALUES ('moved_at', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value
          """
      ).execute(arguments: ["\(now)"])
    case .pauses(let run, let pauses):
      try db.cachedStatement(sql: "UPDATE run SET pauses = ? WHERE number = ?").execute(arguments: [
        RunPause.text(pauses), run,
      ])
    case .hosts(let hosts):
      try db.cachedStatement(
        sql: "INSERT INTO meta VALUES ('hosts', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
      ).execute(arguments: [mask.masked(HostStanding.write(hosts).text)])
    case .spent(let policy, let period, let bytes):
      try db.cachedStatement(
        sql: """
          INSERT INTO spending (policy, period, bytes) VALUES (?,?,?)
          ON CONFLICT (policy, period) DO UPDATE SET bytes = bytes + excluded.bytes
          """
      ).execute(arguments: [policy, period, bytes])
    case .cooldown(let origin, let until, let askedAt):
      try db.cachedStatement(
        sql: """
          INSERT INTO rest (origin, until, asked_at) VALUES (?,?,?)
          ON CONFLICT (origin) DO UPDATE SET until = excluded.until, asked_at = excluded.asked_at
          """
      ).execute(arguments: [origin, until, askedAt])
    case .rate(let host, let rate, let now): try host.write(rate, at: now, db)
    case .concurrency(let origin, let requests, let now):
      try HostConcurrency.write(requests, of: origin, at: now, db)
    case .host(let origin, let record, let now): try HostRecord.write(record, of: origin, at: now, db)
    }
  }
}
