import JobModel
import Testing

/// cli.md, How a transfer and a run end.
struct OutcomeTests {
  private func counts(_ rows: [(String, String?, Int)]) -> StateCounts {
    var counts = StateCounts()
    for (word, reason, count) in rows { counts.add(count, word: word, reason: reason) }
    return counts
  }

  @Test func theTable() {
    typealias Row = (
      rows: [(String, String?, Int)], outcome: RunOutcome, status: JobModel.ExitStatus, job: String
    )
    let table: [Row] = [
      ([], .completed, .success, "completed"),
      ([("completed", nil, 2), ("up_to_date", nil, 1)], .completed, .success, "completed"),
      ([("completed", nil, 1), ("canceled", nil, 1)], .completed, .success, "completed"),
      ([("skipped", "disabled", 1), ("skipped", "exists", 1)], .completed, .success, "completed"),
      ([("canceled", nil, 3)], .canceled, .success, "completed"),
      ([("completed", nil, 1), ("failed", nil, 1)], .failed, .failed, "failed"),
      ([("completed", nil, 1), ("skipped", "needs:x", 1)], .failed, .failed, "failed"),
      ([("failed", nil, 1), ("queued", nil, 1)], .failed, .failedWithWorkLeft, "failed"),
      ([("failed", nil, 1), ("paused", "retries", 1)], .failed, .failedWithWorkLeft, "failed"),
      ([("skipped", "needs:x", 1), ("paused", "user", 1)], .failed, .failedWithWorkLeft, "failed"),
      ([("paused", "retries", 1)], .incomplete, .incomplete, "paused"),
      ([("paused", "user", 1), ("queued", nil, 1)], .incomplete, .incomplete, "paused"),
      ([("queued", "needs:x", 1), ("completed", nil, 1)], .incomplete, .incomplete, "queued"),
      ([("running", nil, 1), ("failed", nil, 1)], .failed, .failedWithWorkLeft, "running"),
    ]
    for (rows, outcome, status, job) in table {
      let counts = counts(rows)
      let end = counts.outcome(endedByFailFast: false)
      #expect(end.outcome == outcome && end.status == status, "\(rows)")
      #expect(counts.jobState == job, "\(rows)")
      #expect(counts.total == rows.reduce(0) { $0 + $1.2 })
    }
    var waiting = counts([("completed", nil, 2), ("failed", nil, 1)])
    waiting.unsynced = 1
    // What is not on the disk is not done.
    #expect(waiting.outcome(endedByFailFast: false) == (.failed, .failedWithWorkLeft))
    #expect(!waiting.isOver(endedByFailFast: false))
    let held = counts([("failed", nil, 1), ("queued", "fail_fast", 5)])
    #expect(held.outcome(endedByFailFast: true) == (.failed, .failed))
  }

  @Test func aRunIsOverWhenEachTransferHasHadItsTurn() {
    let table: [(word: String, reason: String?, isOver: Bool)] = [
      ("completed", nil, true), ("up_to_date", nil, true), ("failed", nil, true), ("canceled", nil, true),
      ("skipped", "exists", true), ("skipped", "needs:x", true), ("queued", "needs:x", true),
      ("paused", "retries", true), ("paused", "user", true), ("queued", nil, false), ("running", nil, false),
      ("paused", "interrupted", false), ("paused", "window", false), ("paused", "deadline", false),
      ("paused", "budget", false), ("paused", "interface", false), ("paused", "metered", false),
      ("paused", "disk", false),
    ]
    for (word, reason, isOver) in table {
      let counts = counts([("completed", nil, 3), (word, reason, 1)])
      #expect(counts.isOver(endedByFailFast: false) == isOver, "\(word) \(reason ?? "")")
      #expect(counts.isOver(endedByFailFast: true))
    }
  }

  @Test func exitCodesAreThoseOfTheContract() {
    #expect(JobModel.ExitStatus.allCases.map(\.rawValue) == [0, 1, 2, 64, 65, 66, 70, 73, 75, 76])
    let words = ["completed", "failed", "incomplete", "canceled", "invalid", "refused"]
    #expect(RunOutcome.allCases.map(\.rawValue) == words)
  }
}
