import JobLedger
import JobModel

/// Brings completions to the disk in groups: files first, then their folders, then the record of it.
package struct SyncPass: Sendable {
  private let context: EngineContext
  private let pool: BlockingPool
  private let whole: WholeSync
  private static let group = 16_384
  private static let shares = 16
  /// From so many files on, one sync of the whole file system is less work than theirs apart.
  private static let many = 32

  package init(_ context: EngineContext) {
    self.context = context
    // Syncing waits for the disk, not for a core.
    pool = BlockingPool(label: "haul-sync", width: Self.shares)
    whole = WholeSync(context.folder)
  }

  /// Syncs what is recorded as not yet on disk. A file that can't be synced ends as failed, or held where the disk is
  /// full; the others go on.
  ///
  /// - Throws: `LedgerError`; `CancellationError` within the sync of one file.
  package func run() async throws {
    while true {
      try Task.checkCancellation()
      try await context.writer.barrier()
      let batch = try context.ledger.unsynced(boot: context.bootID, limit: Self.group)
      if batch.isEmpty { return }
      let device = batch.count < Self.many ? nil : try await pool.run { whole.sync() }
      try await sync(batch, but: device)
    }
  }

  /// - Parameter device: what is on it is on the disk already.
  private func sync(_ batch: [UnsyncedCompletion], but device: UInt64?) async throws {
    let count = min(Self.shares, batch.count)
    try await withThrowingTaskGroup(of: [LedgerChange].self) { group in
      for share in 0..<count {
        let part = batch[batch.count * share / count..<batch.count * (share + 1) / count]
        group.addTask { try await pool.runAsking { try changes(part, but: device, isCancelled: $0) } }
      }
      for try await changes in group {
        for change in changes {
          context.writer.submit(change)
          guard case .unsyncable(let one, let state, let failure, _) = change else { continue }
          context.events(.state(id: one.id, from: one.state, to: state, failure: failure))
        }
      }
    }
  }

  /// Syncs some files, each run of those in one folder before the folder.
  private func changes(
    _ part: ArraySlice<UnsyncedCompletion>, but device: UInt64?, isCancelled: () -> Bool
  ) throws -> [LedgerChange] {
    var changes: [LedgerChange] = []
    var rest = part
    while let first = rest.first {
      let parent = first.parts.parent
      let here = rest.prefix { $0.parts.parent == parent }
      rest = rest.dropFirst(here.count)
      switch Result(catching: { () throws(Failure) in try context.folder.opening(parent) }) {
      case .success(let folder?): changes += try self.changes(here, in: folder, but: device, isCancelled)
      case .success(nil): changes += here.map { .gone($0) }
      case .failure(let failure): changes += here.map { lost($0, failure) }
      }
    }
    return changes
  }

  private func changes(
    _ here: ArraySlice<UnsyncedCompletion>, in folder: Folder, but device: UInt64?, _ isCancelled: () -> Bool
  ) throws -> [LedgerChange] {
    var changes: [LedgerChange] = []
    var synced: [UnsyncedCompletion] = []
    for one in here {
      if isCancelled() { throw CancellationError() }
      do throws(Failure) {
        if try folder.sync(one.parts.name, inode: one.inode, but: device) {
          synced.append(one)
        } else {
          changes.append(.gone(one))
        }
      } catch { changes.append(lost(one, error)) }
    }
    do throws(Failure) {
      if !synced.isEmpty { try folder.sync(but: device) }
      changes.append(.synced(synced))
    } catch { changes += synced.map { lost($0, error) } }
    return changes
  }

  /// What can't be brought to the disk is not complete, whatever was recorded.
  private func lost(_ one: UnsyncedCompletion, _ failure: Failure) -> LedgerChange {
    let next = StateMachine.next(one.state, .lose(failure.code))?.state ?? .failed
    return .unsyncable(one, next, failure, at: context.clock.now())
  }
}

extension UnsyncedCompletion {
  fileprivate var parts: PathParts { PathParts(destination.localPath ?? "") }
}
