import Admission
import Digests
import Glibc
import JobLedger
import JobModel
import LocalFiles
import Posix
import Reporting

/// Compares a download's file with its record. Blocks while it reads.
struct LocalCheck: Sendable {
  /// The manifest's.
  let folder: Folder
  /// What all reading shares.
  let rate: RateLimit

  /// - Returns: also how many bytes were read.
  /// - Throws: `Failure`; `CancellationError` once it is not wanted any more.
  func compare(
    _ transfer: LedgerTransfer, isCancelled: () -> Bool
  ) throws -> (comparison: Comparison, bytesRead: Int64) {
    let record = RecordComparison(progress: transfer.progress)
    let parts = PathParts(Self.path(of: transfer))
    guard let place = try folder.opening(parts.parent, beneath: !transfer.settings.allowsOutside) else {
      return (record.missing, 0)
    }
    guard !place.holdsOther(parts.name) else {
      return (.different(check: "type", expected: "a file", actual: "something else"), 0)
    }
    let present = try place.facts(parts.name)
    if let known = record.file(present) { return (known, 0) }
    guard let present, let algorithm = record.digest?.algorithm,
      let kind = DigestKind(rawValue: algorithm.rawValue)
    else { return (.unverifiable(.noDigest), 0) }
    let file = try place.reading(parts.name)
    let digest = try StreamingDigest(kind)
    var isWanted = true
    let count = try file.scan(0..<present.size) { block in
      isWanted = pace(block.count, isCancelled)
      digest.update(block)
      return isWanted
    }
    guard isWanted else { throw CancellationError() }
    let now = try file.facts()
    guard now.size == present.size, now.mtime == present.mtime, now.inode == present.inode else {
      return (.unverifiable(.changedWhileRead), count)
    }
    return (record.bytes(digest.finishHex(), algorithm), count)
  }

  /// The file that a download has made, as the manifest's folder knows it.
  static func path(of transfer: LedgerTransfer) -> String {
    transfer.progress.resolvedDestination ?? transfer.destination.localPath ?? ""
  }

  /// Waits as the rate asks.
  ///
  /// - Returns: false once it is not wanted any more.
  private func pace(_ count: Int, _ isCancelled: () -> Bool) -> Bool {
    while !isCancelled() {
      let wait = rate.wait(now: SystemClock.uptime)
      guard wait > 0 else {
        rate.take(count)
        return true
      }
      usleep(UInt32(min(wait, 0.1) * 1e6) + 1)
    }
    return false
  }
}
