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
  /// Seconds between two positions on record.
  private static let pause = 0.2

  let ledger: JobLedger
  let request: VerifyRequest
  /// When what counts was completed, seconds since 1970.
  let completed: Range<Double>
  let local: LocalCheck
  let uploads: UploadCheck
  let pool: BlockingPool

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

  /// Whether it is one that is to be compared, before a sample is drawn.
  func concerns(_ transfer: LedgerTransfer) -> Bool {
    guard let at = transfer.progress.completedAt, transfer.state != .running else { return false }
    return completed.contains(at) && request.ids?.includes(transfer.id) ?? true
  }

  /// How many transfers are to be compared.
  func count() throws -> Int {
    var (count, last): (Int, Int64) = (0, 0)
    while true {
      let page = try ledger.page(after: last, onlyTouched: false, limit: 512, withFacts: false)
      guard let end = page.last else { return count }
      count += page.count(where: concerns)
      last = end.seq
    }
  }

  /// Compares what follows the journal's position.
  ///
  /// - Parameter found: told of each finding, in order.
  /// - Returns: false where it was cancelled before the end.
  func run(_ journal: VerifyJournal, found: @Sendable (VerifyFinding) -> Void) async throws -> Bool {
    var position = journal.position
    var draw = request.share.map {
      SampleDraw(
        share: $0, of: journal.total, seed: journal.seed, passed: position.passed, drawn: position.drawn)
    }
    var recordedAt = SystemClock.uptime
    do {
      try await withThrowingTaskGroup(of: Result.self) { group in
        var turns: [Int: Turn] = [:]
        var results: [Int: Result] = [:]
        var (begun, ended) = (0, 0)
        func settle() async throws {
          guard let next = try await group.next() else { return }
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
          guard SystemClock.uptime - recordedAt >= Self.pause else { return }
          try journal.record(position)
          recordedAt = SystemClock.uptime
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
            group.addTask { try await compare(transfer, number) }
            begun += 1
          }
        }
        while ended < begun { try await settle() }
      }
    } catch is CancellationError {
      try journal.record(position)
      return false
    }
    try journal.record(position)
    return true
  }

  private func compare(_ transfer: LedgerTransfer, _ number: Int) async throws -> Result {
    try Task.checkCancellation()
    do {
      let (comparison, bytes) =
        switch transfer.settings.direction {
        case .download: try await pool.runAsking { try local.compare(transfer, isCancelled: $0) }
        case .upload: try await uploads.compare(transfer)
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
    case .upload: Masking.place(transfer.destination)
    }
  }
}
