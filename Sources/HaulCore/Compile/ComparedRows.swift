import Digests
import Endpoints
import JobLedger
import JobModel
import Planner

/// Compares the rows of files with those that the plan at hand was compiled from, in their order. What is as it was is
/// kept; the rest is planned anew.
final class ComparedRows: KnownRows {
  /// What was kept can't be told from what is new, or is not worth it: all has to be compiled.
  struct Unlike: Error {}

  /// Rows that may be gone between two that are kept, and rows that may be new.
  private static let (window, most) = (8192, 50_000)

  private let digest: RepeatedDigest
  /// The marks on record, some at a time; nil where rows are only to be known again the next time.
  private let marks: ((_ block: Int64) throws -> [RowMark])?
  private let keep: (RowMark) throws -> Void
  private var ahead: [RowMark] = []
  private var start = 0
  private var block: Int64? = 1

  private var kept = RowSet()
  private var ids: [String] = []
  private var clash: NameClash

  init(
    _ job: Job, _ marks: ((_ block: Int64) throws -> [RowMark])?, keep: @escaping (RowMark) throws -> Void
  ) throws {
    clash = NameClash(DestinationKeys(job.endpoints))
    digest = try RepeatedDigest(.sha256)
    self.marks = marks
    self.keep = keep
  }

  func digest(of row: [UInt8]) throws -> UInt64? {
    let bytes = digest.bytes(of: row)
    let own = bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    guard let marks else { return own }
    try read(marks)
    guard let index = ahead[start...].prefix(Self.window).firstIndex(where: { $0.digest == own }) else {
      return own
    }
    start = index + 1
    kept.insert(ahead[index].seq)
    try keep(ahead[index])
    return nil
  }

  /// Notes what is planned, as it may be what a kept row is.
  ///
  /// - Throws: `Unlike` where too much is new.
  func note(_ planned: PlannedTransfer) throws {
    guard marks != nil else { return }
    guard ids.count < Self.most else { throw Unlike() }
    ids.append(planned.id)
    clash.note(planned.destination)
  }

  /// - Throws: `Unlike` where a fault was found, which is told by a compile of all, and where an id or a destination that
  ///   was planned may be that of a row that was kept.
  func settle(in ledger: JobLedger, _ diagnostics: [Diagnostic]) throws {
    guard marks != nil else { return }
    guard diagnostics.allSatisfy({ $0.severity != .error }) else { throw Unlike() }
    guard !ids.isEmpty else { return }
    if try ledger.clashes(ids, in: kept, where: { clash.meets(Place($0)) }) { throw Unlike() }
  }

  private func read(_ marks: (Int64) throws -> [RowMark]) throws {
    while let number = block, ahead.count - start < Self.window {
      ahead.removeSubrange(..<start)
      start = 0
      let more = try marks(number)
      ahead += more
      block = more.isEmpty ? nil : number + 1
    }
  }
}
