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
  let reads: OpenReads

  /// - Returns: also how many bytes were read, those of a verification that was stopped in this file among them.
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
    let (found, count) =
      kind == .sha256
      ? try sha256(of: file, transfer.seq, present, isCancelled)
      : try digest(kind, of: file, present.size, isCancelled)
    reads.end(transfer.seq)
    let now = try file.facts()
    guard now.size == present.size, now.mtime == present.mtime, now.inode == present.inode else {
      return (.unverifiable(.changedWhileRead), count)
    }
    return (record.bytes(found, algorithm), count)
  }

  /// Goes on where a stopped verification of the same file was.
  private func sha256(
    of file: OpenFile, _ seq: Int64, _ present: FileFacts, _ isCancelled: () -> Bool
  ) throws -> (hex: String, bytes: Int64) {
    let known = reads.place(of: seq, present)
    let start = known?.state.count ?? 0
    var digest = ResumableSHA256(from: known?.state)
    let count = try scan(file, start..<present.size, isCancelled) { block in
      digest.update(block)
      reads.note(digest.state.map { OpenRead(seq: seq, file: present, state: $0) }, bytes: block.count)
    }
    return (digest.finishHex(), start + count)
  }

  private func digest(
    _ kind: DigestKind, of file: OpenFile, _ size: Int64, _ isCancelled: () -> Bool
  ) throws -> (hex: String, bytes: Int64) {
    let digest = try StreamingDigest(kind)
    let count = try scan(file, 0..<size, isCancelled) { block in
      digest.update(block)
      reads.note(nil, bytes: block.count)
    }
    return (digest.finishHex(), count)
  }

  /// - Throws: `CancellationError` once it is not wanted any more.
  private func scan(
    _ file: OpenFile, _ range: Range<Int64>, _ isCancelled: () -> Bool,
    _ body: (UnsafeRawBufferPointer) -> Void
  ) throws -> Int64 {
    var isWanted = true
    let count = try file.scan(range) { block in
      isWanted = pace(block.count, isCancelled)
      if isWanted { body(block) }
      return isWanted
    }
    guard isWanted else { throw CancellationError() }
    return count
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
