/// The one table of exit codes; `docs/exit-codes.md` says more of each.
package enum ExitStatus: Int32, Sendable, Hashable, CaseIterable {
  case success = 0
  case failed = 1
  case failedWithWorkLeft = 2
  case usage = 64
  case invalidManifest = 65
  case noInput = 66
  case software = 70
  case cannotCreate = 73
  case incomplete = 75
  case alreadyRunning = 76

  package var meaning: String {
    switch self {
    case .success: "every transfer completed, was up to date, or was canceled, disabled or kept on purpose"
    case .failed:
      "at least one transfer failed, or was skipped for one that failed, and nothing else is left to do, or `fail_fast` ended the run"
    case .failedWithWorkLeft: "as 1, and other work is left that can go on"
    case .usage: "wrong command line"
    case .invalidManifest: "the manifest is invalid"
    case .noInput: "the manifest, or another named input, job or prefix, can't be read or found"
    case .software: "a defect in haul itself"
    case .cannotCreate:
      "the state, a report, an events file or standard output can't be written, or the state is damaged"
    case .incomplete: "nothing failed, and work is left that can go on: run the same command again"
    case .alreadyRunning: "this job is already running"
    }
  }
}

/// How a run ended, as the report says it.
package enum RunOutcome: String, Sendable, Hashable, CaseIterable {
  case completed, failed, incomplete, canceled, invalid, refused
}
