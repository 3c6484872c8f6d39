/// How many transfers stand where; everything a run's end is decided from.
package struct StateCounts: Sendable, Hashable {
  package var queued = 0
  package var running = 0
  package var paused = 0
  package var completed = 0
  package var upToDate = 0
  package var failed = 0
  package var canceled = 0
  package var skipped = 0
  /// Of the skipped: because one they need failed.
  package var skippedForNeeds = 0
  /// Of those that are done: not known to be on the disk yet.
  package var unsynced = 0
  /// Of the queued and paused: had no turn in the run yet, or were stopped in it.
  package var awaitingTurn = 0
  /// Of the paused: by a user, until `resume`.
  package var pausedByUser = 0

  package init() {}

  package var total: Int {
    queued + running + paused + completed + upToDate + failed + canceled + skipped
  }

  package mutating func add(_ count: Int, word: String, reason: String?) {
    let state = TransferState(word: word, reason: reason)
    if state?.awaitsTurn == true { awaitingTurn += count }
    switch state {
    case .queued: queued += count
    case .running: running += count
    case .paused(let why):
      paused += count
      if why == .user { pausedByUser += count }
    case .completed: completed += count
    case .upToDate: upToDate += count
    case .failed: failed += count
    case .canceled: canceled += count
    case .skipped(let why):
      skipped += count
      if case .needs = why { skippedForNeeds += count }
    case nil: break
    }
  }

  /// The job's state: the first that applies.
  package var jobState: String {
    if running > 0 { return "running" }
    if failed > 0 || skippedForNeeds > 0 { return "failed" }
    if paused > 0 { return "paused" }
    if queued > 0 { return "queued" }
    return "completed"
  }

  /// Whether a run with these counts is over: each of its transfers has had its turn. Else the next one continues it.
  package func isOver(endedByFailFast: Bool) -> Bool { endedByFailFast || awaitingTurn + unsynced == 0 }

  /// How a run with these counts ended.
  package func outcome(endedByFailFast: Bool) -> (outcome: RunOutcome, status: ExitStatus) {
    if endedByFailFast { return (.failed, .failed) }
    let isWorkLeft = queued > 0 || paused > 0 || running > 0 || unsynced > 0
    if failed > 0 || skippedForNeeds > 0 { return (.failed, isWorkLeft ? .failedWithWorkLeft : .failed) }
    if isWorkLeft { return (.incomplete, .incomplete) }
    if canceled > 0 && canceled == total { return (.canceled, .success) }
    return (.completed, .success)
  }
}
