package import JobModel

/// What the command line asks of a run.
package struct RunSettings: Sendable {
  package enum Precheck: String, Sendable, CaseIterable { case warn, strict }
  package enum IfRunning: String, Sendable, CaseIterable { case fail, wait, skip }
  package enum ResumeCheck: String, Sendable, CaseIterable { case quick, full }

  /// Where the report is written as well; `-` is standard output.
  package var report: String?
  /// Where events are appended; `-` is standard output.
  package var events: String?
  package var overrides: [String: String] = [:]
  package var startsNew = false
  package var adopt = false
  /// An id or a glob of ids, and what it selects.
  package var only: String?
  package var scope: Selection?
  package var precheck = Precheck.warn
  package var ifRunning = IfRunning.fail
  package var resumeCheck = ResumeCheck.quick
  /// Seconds until the run is stopped.
  package var deadline: Double?
  package var waits = true
  package var failFast = false
  /// Whether standard output gets the report.
  package var json = false
  package var showsProgress = true
  package var log = LogSettings()

  package init() {}
}

/// What of a run is logged, and how.
package struct LogSettings: Sendable {
  package enum Level: String, Sendable, CaseIterable { case debug, info, warning, error }
  package enum Format: String, Sendable, CaseIterable { case text, json }

  package var level = Level.warning
  package var format = Format.text
  package var isQuiet = false

  package init() {}
}
