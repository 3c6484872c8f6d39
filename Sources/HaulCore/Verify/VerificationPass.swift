import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles
import Posix
import Reporting

/// Goes through a plan and compares what is completed, many transfers at once, and hands the results on in the plan's order.
struct VerificationPass: Sendable {
  /// Transfers that are looked at at the same time. Reading has as many threads as there are cores, and requests wait for
  /// their hosts' limits: more only keeps these busy behind a large file.
  private static let width = 64
  private static let page = 128
  /// Seconds between two positions on record: what a kill may cost.
  private static let pause = 2.0

  let ledger: JobLedger
  let request: VerifyRequest
  /// When what counts was completed, seconds since 1970.
  let completed: Range<Double>
  let local: LocalCheck
  let uploads: UploadCheck
  let pool: BlockingPool
  let reads: OpenReads

  /// One transfer's turn in the order of the plan.
  private struct Turn: Sendable {
    let transfer: LedgerTransfer
    let passed: Int
    let drawn: Int
  }

  private struct Result: Sendable {
    let number: Int
    /// nil where the transfer is no longer what the page said of it.
    let comparison: Comparison?
    let bytesRead: Int64
  }

  private enum Event: Sendable {
    case compared(Result)
    /// It is time to record the position, also while a large file is read.
    case due
  }

  /// Whether it is one that is to be compared, before a sample is drawn.
  func concerns(_ transfer: LedgerTransfer) -> Bool {
    guard let at = transfer.progress.completedAt, transfer.state != .running else { return false }
    return completed.contains(at) && request.ids?.includes(transfer.id) ?? true
  }

  /// How many transfers are to be compared, and how many bytes of local files.
  func count() throws -> (transfers: Int, bytes: Int64) {
    var (count, bytes, last): (Int, Int64, Int64) = (0, 0, 0)
    while true {
      let page = try ledger.page(after: last, onlyTouched: false, limit: 512, withFacts: false)
      guard let end = page.last else { return (count, bytes) }
      for transfer in page where concerns(transfer) {
        count += 1
        guard transfer.settings.direction == .download, !transfer.progress.digests.isEmpty else { continue }
        bytes = bytes.adding(clamping: transfer.progress.size ?? 0)
      }
      last = end.seq
    }
  }

  /// How much of that a sample takes.
  func whole() throws -> (transfers: Int, bytes: Int64) {
    let all = try count()
    guard let share = request.share else { return all }
    return (
      SampleDraw(share: share, of: all.transfers, seed: 0).wanted,
      Int64(clamping: (Double(all.bytes) * share).rounded(.up))
    )
  }

  /// Compares what follows the journal's position.
  ///
  /// - Parameters:
  ///   - found: told of each finding, in order.
  ///   - compared: told of each step, with all that has been compared so far.
  /// - Returns: false where it was cancelled before the end.
  func run(
    _ journal: VerifyJournal, found: @Sendable (VerifyFinding) -> Void,
    compared: @Sendable (VerifyTotals) -> Void
  ) async throws -> Bool {
    var position = journal.position
    reads.restore(position.reads)
    func record() throws {
      position.reads = reads.all
      try journal.record(position)
    }
    var draw = request.share.map {
      SampleDraw(
        share: $0, of: journal.total, seed: journal.seed, passed: position.passed, drawn: position.drawn)
    }
    do {
      try await withThrowingTaskGroup(of: Event.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await Self.due }
        var turns: [Int: Turn] = [:]
        var results: [Int: Result] = [:]
        var (begun, ended) = (0, 0)
        func settle() async throws {
          guard let event = try await group.next() else { return }
          guard case .compared(let next) = event else {
            try record()
            return group.addTask { try await Self.due }
          }
          results[next.number] = next
          while let result = results.removeValue(forKey: ended), let turn = turns.removeValue(forKey: ended) {
            ended += 1
            position.last = turn.transfer.seq
            (position.passed, position.drawn) = (turn.passed, turn.drawn)
            position.totals.bytesRead += result.bytesRead
            guard let comparison = result.comparison else { continue }
            position.totals.add(comparison)
            if let finding = VerifyFinding(id: turn.transfer.id, place: Self.place(turn.transfer), comparison)
            {
              journal.add(finding)
              found(finding)
            }
          }
          compared(position.totals)
        }
        var last = position.last
        while true {
          try Task.checkCancellation()
          let page = try ledger.page(after: last, onlyTouched: false, limit: Self.page)
          guard let end = page.last else { break }
          last = end.seq
          for transfer in page where concerns(transfer) {
            guard draw?.takes() ?? true else { continue }
            while begun - ended >= Self.width { try await settle() }
            let number = begun
            turns[number] = Turn(
              transfer: transfer, passed: draw?.passed ?? 0, drawn: draw?.drawn ?? 0)
            group.addTask { .compared(try await compare(transfer, number)) }
            begun += 1
          }
        }
        while ended < begun { try await settle() }
      }
    } catch is CancellationError {
      try record()
      return false
    }
    try record()
    return true
  }

  private static var due: Event {
    get async throws {
      try await Task.sleep(for: .seconds(pause))
      return .due
    }
  }

  private func compare(_ transfer: LedgerTransfer, _ number: Int) async throws -> Result {
    try Task.checkCancellation()
    do {
      let (comparison, bytes) =
        switch transfer.settings.direction {
        case .download: try await pool.runAsking { try local.compare(transfer, isCancelled: $0) }
        case .upload, .copy: try await uploads.compare(transfer)
        }
      if case .different = comparison, try isOutdated(transfer) {
        return Result(number: number, comparison: nil, bytesRead: bytes)
      }
      return Result(number: number, comparison: comparison, bytesRead: bytes)
    } catch let error as LedgerError {
      throw error
    } catch {
      let failure = try Requester.failure(error)
      // What a stop has broken off says nothing of the transfer.
      try Task.checkCancellation()
      return Result(
        number: number,
        comparison: .unverifiable(
          reason: failure.code.rawValue, isPassing: [.transient, .deferred].contains(failure.class)),
        bytesRead: 0)
    }
  }

  /// A run that goes on meanwhile has moved it again, or is about to.
  private func isOutdated(_ transfer: LedgerTransfer) throws -> Bool {
    guard let now = try ledger.transfer(transfer.seq) else { return true }
    return now.progress.completedAt != transfer.progress.completedAt || now.state == .running
  }

  private static func place(_ transfer: LedgerTransfer) -> String {
    switch transfer.settings.direction {
    case .download: LocalCheck.path(of: transfer)
    case .upload, .copy: Masking.place(transfer.destination)
    }
  }
}
