package import JobLedger
import JobModel
import Synchronization

/// Brings completions to the disk in groups: files first, then their folders, then the record of it.
package struct SyncPass: Sendable {
  private let ledger: JobLedger
  private let writer: LedgerWriter
  private let folder: Folder
  private let pool: BlockingPool
  private static let group = 512

  package init(ledger: JobLedger, writer: LedgerWriter, folder: Folder) {
    self.ledger = ledger
    self.writer = writer
    self.folder = folder
    // Syncing waits for the disk, not for a core.
    pool = BlockingPool(label: "haul-sync", width: 16)
  }

  /// Syncs what is recorded as not yet on disk.
  ///
  /// - Returns: how many completions were synced.
  /// - Throws: `LedgerError`, or `Failure` where a folder can't be synced.
  package func run() async throws -> Int {
    var total = 0
    while true {
      try Task.checkCancellation()
      try await writer.barrier()
      let batch = try ledger.unsynced(limit: Self.group)
      if batch.isEmpty { return total }
      var folders: Set<String> = []
      var lost: [Int64: Failure] = [:]
      await withTaskGroup(of: (Int64, Failure?).self) { group in
        for (seq, destination) in batch {
          let path = path(of: destination)
          folders.insert(PathParts(path).parent)
          group.addTask { (seq, await sync(path)) }
        }
        for await (seq, failure) in group { lost[seq] = failure }
      }
      for path in folders {
        try await pool.run { try Folder.open(path.isEmpty ? "/" : path).sync() }
      }
      for (seq, failure) in lost { try fail(seq, failure) }
      writer.submit(.synced(seqs: batch.map(\.seq)))
      total += batch.count - lost.count
    }
  }

  private func sync(_ path: String) async -> Failure? {
    do {
      try await pool.run {
        // A file that is gone again has nothing to be synced; the next run sees that it is missing.
        guard let file = try? OpenFile.reading(path) else { return }
        try file.sync()
      }
      return nil
    } catch {
      return error as? Failure ?? Failure(.internal, "\(error)")
    }
  }

  /// What can't be brought to the disk is not complete, whatever was recorded.
  private func fail(_ seq: Int64, _ failure: Failure) throws {
    guard var progress = try ledger.transfer(seq)?.progress else { return }
    progress.completedAt = nil
    progress.failure = failure
    writer.submit(.progress(seq: seq, progress))
    writer.submit(.state(seq: seq, .failed))
  }

  private func path(of destination: Place) -> String {
    let path = destination.localPath ?? ""
    return path.hasPrefix("/") ? path : folder.path + "/" + path
  }
}
