import Glibc
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
  /// - Throws: `Failure` where a file can't be synced: its completion does not stand.
  package func run() async throws -> Int {
    var total = 0
    while true {
      try Task.checkCancellation()
      try await writer.barrier()
      let batch = try ledger.unsynced(limit: Self.group)
      if batch.isEmpty { return total }
      var folders: Set<String> = []
      try await withThrowingTaskGroup(of: Void.self) { group in
        for transfer in batch {
          let path = path(of: transfer)
          folders.insert(path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/"))
          group.addTask {
            try await pool.run {
              // A file that is gone again has nothing to be synced; the next run sees that it is missing.
              guard let file = try? OpenFile.reading(path) else { return }
              try file.sync()
            }
          }
        }
        try await group.waitForAll()
      }
      for path in folders {
        try await pool.run { try Folder.open(path.isEmpty ? "/" : path).sync() }
      }
      writer.submit(.synced(seqs: batch.map(\.seq)))
      total += batch.count
    }
  }

  private func path(of transfer: LedgerTransfer) -> String {
    let path = transfer.progress.resolvedDestination ?? transfer.destination.localPath ?? ""
    return path.hasPrefix("/") ? path : folder.path + "/" + path
  }
}
