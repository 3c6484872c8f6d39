import Endpoints
import JobLedger
import JobModel

/// A local source that was touched, or put back under its name, while its upload was suspended: its times or its inode are others,
/// its size and its fingerprint are not.
struct TouchedSource {
  let scope: UploadScope

  /// Whether its session is of use: all that was sent of it can be compared with it (`SessionTakeover`), and nothing that the
  /// session was opened with tells the time that it had.
  func canGoOn(from old: FileFacts, as now: FileFacts) throws -> Bool {
    let record = scope.record
    // Where a server counts bytes, what it holds may have no digest on record.
    guard old.mayBeSameContent(as: now), record.progress.sessionState == .open,
      scope.traits.abilities(of: now.size).order != .byOffset, !keepsTime
    else { return false }
    return try scope.context.run.ledger.chunks(of: record.transfer.seq).allSatisfy { !$0.digest.isEmpty }
  }

  private var keepsTime: Bool {
    let driver = RemotePlace.driver(scope.record.transfer.destination, scope.context.endpoints)
    return scope.settings.preserve.asks(for: .mtime) && driver.abilities.keeps.contains(.mtime)
  }
}
