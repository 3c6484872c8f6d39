import HTTPClient
import JobLedger
import JobModel
import LocalFiles
import Transfers

/// Brings completions to the disk in groups: files first, then their folders, then the record of it.
package struct SyncPass: Sendable {
  private let context: MaintenanceContext
  private let pool: BlockingPool
  private let whole: WholeSync
  private static let group = 8192
  private static let shares = 16
  /// From so many files on, one sync of the whole file system is less work than theirs apart.
  private static let many = 32

  package init(_ context: MaintenanceContext) {
    self.context = context
    // Syncing waits for the disk, not for a core.
    pool = BlockingPool(label: "haul-sync", width: Self.shares)
    whole = WholeSync(context.local.folder, now: context.client.clock.now())
  }

  /// Syncs what is recorded as not yet on disk, at least what was when it began. A file that can't be synced ends as failed, or held
  /// where the disk is full; the others go on.
  ///
  /// - Throws: `LedgerError`; `PassingFault` where files can't be opened for now; `CancellationError` within the sync
  ///   of one file.
  package func run() async throws {
    while true {
      try Task.checkCancellation()
      try await context.run.writer.barrier()
      let batch = try context.run.ledger.unsynced(boot: context.run.bootID, limit: Self.group)
      if batch.isEmpty { return }
      let device = batch.count < Self.many ? nil : try await pool.run { whole.sync() }
      try await sync(batch, but: device)
      // What has completed meanwhile is the next pass's, as a sync of the whole file system for each few would be dear;
      // where each file is synced by itself, no time is lost as long as there are many.
      let many = device == nil ? Self.many : Self.group
      if batch.count < many { return try await context.run.writer.barrier() }
    }
  }

  /// - Parameter device: what this process has written on it is on the disk already.
  private func sync(_ batch: [UnsyncedCompletion], but device: UInt64?) async throws {
    let count = min(Self.shares, batch.count)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for share in 0..<count {
        let part = batch[batch.count * share / count..<batch.count * (share + 1) / count]
        group.addTask { try await pool.runAsking { try sync(part, but: device, isCancelled: $0) } }
      }
      try await group.waitForAll()
    }
  }

  /// Syncs some files, each run of those in one folder before the folder. What is lost is submitted at once: the
  /// kernel tells of it only once, and the pass may be stopped behind it.
  private func sync(
    _ part: ArraySlice<UnsyncedCompletion>, but device: UInt64?, isCancelled: () -> Bool
  ) throws {
    var rest = part
    while let first = rest.first {
      let parent = first.parts.parent
      let here = rest.prefix { $0.parts.parent == parent }
      rest = rest.dropFirst(here.count)
      do {
        guard let folder = try context.local.folder.opening(parent) else {
          for one in here { context.run.writer.submit(.gone(one)) }
          continue
        }
        try sync(here, in: folder, but: device, isCancelled)
      } catch let failure as Failure {
        for one in here { lose(one, failure) }
      }
    }
  }

  private func sync(
    _ here: ArraySlice<UnsyncedCompletion>, in folder: Folder, but device: UInt64?, _ isCancelled: () -> Bool
  ) throws {
    var synced: [UnsyncedCompletion] = []
    for one in here {
      if isCancelled() { throw CancellationError() }
      defer { context.local.writeback.release(one.inode) }
      do {
        let known = whole.covers(completedAt: one.completedAt, reused: one.reused) ? device : nil
        if try folder.sync(one.parts.name, inode: one.inode, but: known) {
          synced.append(one)
        } else {
          context.run.writer.submit(.gone(one))
        }
      } catch let failure as Failure { lose(one, failure) }
    }
    guard !synced.isEmpty else { return }
    do throws(Failure) {
      try folder.sync(
        but: synced.allSatisfy { whole.covers(completedAt: $0.completedAt, reused: $0.reused) } ? device : nil
      )
      context.run.writer.submit(.synced(synced))
    } catch {
      for one in synced { lose(one, error) }
    }
  }

  /// What can't be brought to the disk is not complete, whatever was recorded.
  private func lose(_ one: UnsyncedCompletion, _ failure: Failure) {
    let state = StateMachine.next(one.state, .lose(failure.code))?.state ?? .failed
    context.run.writer.submit(.unsyncable(one, state, failure, at: context.client.clock.now()))
    context.run.events(.state(id: one.id, from: one.state, to: state, failure: failure))
  }
}

extension UnsyncedCompletion {
  fileprivate var parts: PathParts { PathParts(destination.localPath ?? "") }
}
