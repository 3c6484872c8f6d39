package import JobLedger
package import JobModel
import LocalFiles

/// A run's ledger, and who is told of what happens.
package struct RunContext: Sendable {
  package let ledger: JobLedger
  package let writer: LedgerWriter
  /// The job's name.
  package let job: String
  /// The run's ULID: what one run asks for twice is known by it. Empty where there is no run.
  package let id: String
  /// When the run's first attempt began, seconds since 1970.
  package let startedAt: Double
  package let bootID: String
  /// Told what happens, on whatever thread it happens; secrets are masked.
  package let events: @Sendable (EngineEvent) -> Void
  package let warnings: WarningTally
  private let isFollowed: Bool

  /// - Parameters:
  ///   - number: the run's in its job; 0 where there is none.
  ///   - isFollowed: somebody wants to know of each transfer's states.
  package init(
    ledger: JobLedger, writer: LedgerWriter, job: String, number: Int, id: String = "", startedAt: Double = 0,
    bootID: String, isFollowed: Bool = true,
    events: @escaping @Sendable (EngineEvent) -> Void
  ) {
    self.isFollowed = isFollowed
    self.ledger = ledger
    self.writer = writer
    self.job = job
    self.id = id
    self.startedAt = startedAt
    self.bootID = bootID
    let mask = writer.mask
    self.events = { events($0.without(mask)) }
    warnings = WarningTally(writer, run: number)
  }

  /// Tells of something, and records it where there is a run.
  package func remark(_ diagnostic: Diagnostic) {
    warnings.note(diagnostic)
    events(.diagnostic(diagnostic))
  }

  /// Tells of what a statement for many transfers changes; nil where nobody follows.
  package var tell: ((StateChange) -> Void)? {
    guard isFollowed else { return nil }
    return { [events] in events(.state(id: $0.id, from: $0.from, to: $0.to, failure: $0.failure)) }
  }

  /// Tells of a transfer whose turn came to nothing but that it stands.
  func tellStanding(_ id: String, reused bytes: Int64) {
    guard isFollowed else { return }
    events(.state(id: id, from: .queued(nil), to: .running, failure: nil))
    events(
      .state(
        id: id, from: .running, to: .upToDate(nil), failure: nil,
        bytes: MovedBytes(transferred: 0, reused: bytes, discarded: 0)))
  }

  /// The tag of a download's part file.
  func partTag(_ seq: Int64) -> String { PartName.tag(seq, key: ledger.partKey) }

  /// Eight hex digits of job and transfer: names snapshots, and once named part files.
  package func tag(_ id: String) -> String { Self.tag(id, of: job) }

  static func tag(_ id: String, of job: String) -> String {
    // FNV-1a (draft-eastlake-fnv): spread, not secrecy.
    var hash: UInt32 = 2_166_136_261
    for byte in (job + "\0" + id).utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    let text = String(hash, radix: 16)
    return String(repeating: "0", count: 8 - text.count) + text
  }
}
