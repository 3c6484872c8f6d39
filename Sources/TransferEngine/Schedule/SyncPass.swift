import CPosix
import Glibc
import JobLedger
import JobModel

/// Brings completions to the disk in groups: files first, then their folders, then the record of it.
package struct SyncPass: Sendable {
  private let context: EngineContext
  private let pool: BlockingPool
  private static let group = 1024
  private static let shares = 16
  /// From so many files on, one sync of the file system is less work than theirs apart.
  private static let many = 32

  package init(_ context: EngineContext) {
    self.context = context
    // Syncing waits for the disk, not for a core.
    pool = BlockingPool(label: "haul-sync", width: Self.shares)
  }

  /// Syncs what is recorded as not yet on disk. A file that can't be synced ends as failed, or held where the disk is
  /// full; the others go on.
  ///
  /// - Throws: `LedgerError`; `CancellationError` within the sync of one file.
  package func run() async throws {
    var isFirst = true
    while true {
      try Task.checkCancellation()
      try await context.writer.barrier()
      let batch = try context.ledger.unsynced(boot: context.bootID, limit: Self.group)
      guard let first = batch.first else { return }
      if isFirst, batch.count >= Self.many { await flush(first) }
      isFirst = false
      try await sync(batch)
    }
  }

  /// Has the kernel write all that waits, where that is little enough to be mostly ours: each file's own sync then
  /// finds nothing to do, and still says whether it arrived.
  private func flush(_ first: UnsyncedCompletion) async {
    guard DirtyPages.areFew, let folder = try? context.folder.opening(first.parts.parent) else { return }
    _ = try? await pool.run { syncfs(folder.descriptor) }
  }

  private func sync(_ batch: [UnsyncedCompletion]) async throws {
    let count = min(Self.shares, batch.count)
    try await withThrowingTaskGroup(of: [LedgerChange].self) { group in
      for share in 0..<count {
        let part = batch[batch.count * share / count..<batch.count * (share + 1) / count]
        group.addTask { try await pool.runAsking { try changes(part, isCancelled: $0) } }
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
  private func changes(_ part: ArraySlice<UnsyncedCompletion>, isCancelled: () -> Bool) throws
    -> [LedgerChange]
  {
    var changes: [LedgerChange] = []
    var rest = part
    while let first = rest.first {
      let parent = first.parts.parent
      let here = rest.prefix { $0.parts.parent == parent }
      rest = rest.dropFirst(here.count)
      switch Result(catching: { () throws(Failure) in try context.folder.opening(parent) }) {
      case .success(let folder?): changes += try self.changes(here, in: folder, isCancelled)
      case .success(nil): changes += here.map { .gone($0) }
      case .failure(let failure): changes += here.map { lost($0, failure) }
      }
    }
    return changes
  }

  private func changes(
    _ here: ArraySlice<UnsyncedCompletion>, in folder: Folder, _ isCancelled: () -> Bool
  ) throws -> [LedgerChange] {
    var changes: [LedgerChange] = []
    var synced: [UnsyncedCompletion] = []
    for one in here {
      if isCancelled() { throw CancellationError() }
      do throws(Failure) {
        if try folder.sync(one.parts.name, inode: one.inode) {
          synced.append(one)
        } else {
          changes.append(.gone(one))
        }
      } catch { changes.append(lost(one, error)) }
    }
    do throws(Failure) {
      if !synced.isEmpty { try folder.sync() }
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
