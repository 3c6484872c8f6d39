import Endpoints
import JobLedger
import JobModel
import Posix

/// The notices of one run of a job: what `on` asks for, filled in as its events come.
struct RunNotices: Sendable {
  private let name: String
  private let told: KeptNotices
  private let runID: String
  private let startedAt: Double
  /// The report's path.
  private let report: String?

  init(_ job: Job, run id: String, startedAt: Double, report: String?) {
    self.init(job.name, KeptNotices(job), run: id, startedAt: startedAt, report: report)
  }

  /// - Parameters:
  ///   - name: the job's.
  ///   - told: what it tells, by its manifest or as its last run left it.
  init(_ name: String, _ told: KeptNotices, run id: String, startedAt: Double, report: String?) {
    (self.name, self.told, runID, self.startedAt, self.report) = (name, told, id, startedAt, report)
  }

  var isEmpty: Bool { told.notices.isEmpty }

  /// How an attempt ended.
  struct Ending {
    var outcome: RunOutcome
    var status: ExitStatus
    var isSkipped = false
  }

  /// - Parameters:
  ///   - attempt: 0 for a run that never began.
  ///   - ending: nil at the start.
  ///   - counts: nil where they are not known, and so are `sums`.
  func owed(
    run number: Int?, attempt: Int, _ ending: Ending? = nil, counts: StateCounts? = nil,
    sums: TransferSums? = nil
  ) -> [OwedNotice] {
    guard !isEmpty else { return [] }
    var values = NoticeValues(runID: runID, runDate: Timestamp.date(startedAt), job: name)
    values.number = number
    values.outcome = ending?.outcome
    values.exitCode = ending?.status.rawValue
    values.report = report
    values.totals = (counts.map(Self.totals) ?? [:]).merging(sums.map(Self.totals) ?? [:]) { first, _ in first
    }
    let events =
      ending.map { NoticeEvent.ending(with: $0.status, isSkipped: $0.isSkipped) } ?? [.start]
    return events.flatMap { event in
      told.notices.filter { $0.event == event && (ending?.isSkipped != true || $0.isSentOfSkipped) }.map {
        notice in
        OwedNotice(
          key: "\(runID)-\(attempt)-\(event.rawValue)-\(notice.index)", event: event,
          message: notice.message(values, folder: told.folder), policy: told.policy,
          owedAt: SystemClock.now)
      }
    }
  }

  private static func totals(_ counts: StateCounts) -> [String: Int64] {
    [
      "transfers": Int64(counts.total), "completed": Int64(counts.completed),
      "up_to_date": Int64(counts.upToDate), "failed": Int64(counts.failed), "paused": Int64(counts.paused),
      "canceled": Int64(counts.canceled), "queued": Int64(counts.queued), "skipped": Int64(counts.skipped),
    ]
  }

  private static func totals(_ sums: TransferSums) -> [String: Int64] {
    [
      "bytes.planned": sums.planned, "bytes.transferred": sums.transferred, "bytes.reused": sums.reused,
      "bytes.discarded": sums.discarded, "requests": sums.requests, "retries": sums.retries,
    ]
  }
}

extension KeptNotices {
  init(_ job: Job) {
    self.init(notices: job.notices, policy: job.noticePolicy, folder: job.directory)
  }
}
