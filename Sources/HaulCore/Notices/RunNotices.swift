import Endpoints
import JobLedger
import JobModel
import Posix

/// The notices of one run of a job: what `on` asks for, filled in as its events come.
struct RunNotices: Sendable {
  private let job: Job
  private let runID: String
  private let startedAt: Double
  /// The report's path.
  private let report: String?

  init(_ job: Job, run id: String, startedAt: Double, report: String?) {
    (self.job, runID, self.startedAt, self.report) = (job, id, startedAt, report)
  }

  var isEmpty: Bool { job.notices.isEmpty }

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
    var values = NoticeValues(runID: runID, runDate: Timestamp.date(startedAt), job: job.name)
    values.number = number
    values.outcome = ending?.outcome
    values.exitCode = ending?.status.rawValue
    values.report = report
    values.totals = (counts.map(Self.totals) ?? [:]).merging(sums.map(Self.totals) ?? [:]) { first, _ in first
    }
    let events =
      ending.map { NoticeEvent.ending(with: $0.status, isSkipped: $0.isSkipped) } ?? [.start]
    return events.flatMap { event in
      job.notices.filter { $0.event == event }.map { notice in
        OwedNotice(
          key: "\(runID)-\(attempt)-\(event.rawValue)-\(notice.index)", event: event,
          message: notice.message(values, folder: job.directory), policy: job.noticePolicy,
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
