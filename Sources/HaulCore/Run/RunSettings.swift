import Glibc
import JobLedger
package import JobModel
import Posix
import Reporting

/// What the command line asks of a run.
package struct RunSettings: Sendable {
  package enum Precheck: String, Sendable, CaseIterable { case warn, strict }
  package enum IfRunning: String, Sendable, CaseIterable { case fail, wait, skip }
  package enum ResumeCheck: String, Sendable, CaseIterable { case quick, full }

  /// Files that get the report as well (`--report`, `--metrics`).
  package var reports: [ReportTarget] = []
  /// Where events are appended; `-` is standard output.
  package var events: String?
  package var overrides: [String: String] = [:]
  package var startsNew = false
  package var adopt = false
  /// What is run alone; nil for all.
  package var selection: Selection?
  /// Where the ids of `--only-from` stand; `-` is standard input.
  package var idsPath: String?
  /// Those ids, once they are read.
  var ids: IDList?
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

  /// A slip of the shell's completion would replace the manifest, a job's state or the events by a report.
  func checkApart(from manifest: String) throws {
    for path in reports.map(\.path) + [events].compactMap(\.self) {
      try ReportTarget.check(path, apartFrom: [manifest], "the manifest")
    }
    try checkSeparate()
  }

  /// Of two forms in one file, the last would be left; on standard output, no reader could tell them apart.
  private func checkSeparate() throws {
    var outputs: [(path: String, form: String)] = reports.map { ($0.path, $0.form.rawValue) }
    if json { outputs.append(("-", ReportForm.json.rawValue)) }
    if let events { outputs.append((events, "events")) }
    var known: [ByteText: String] = [:]
    for (path, form) in outputs where !path.isEmpty && (path == "-" || !ReportFile.isSpecial(path)) {
      let place = ByteText(path == "-" ? path : Paths.tidied(path))
      guard let other = known.updateValue(form, forKey: place), other != form else { continue }
      throw End(
        .usage,
        "\(path == "-" ? "standard output" : "`\(path)`") is to get both \(other) and \(form)",
        hint: "give each a file of its own")
    }
  }

  /// Nor the files that the job has downloaded.
  func checkApart(fromFilesOf ledger: JobLedger) throws {
    for path in reports.map(\.path) + [events].compactMap(\.self) {
      try ReportTarget.check(path, apartFromFilesOf: ledger)
    }
  }

  /// A report or an events file that can't be written is known before anything is moved.
  func checkWritable() throws {
    for path in reports.map(\.path) where path != "-" { try Self.checkWritable(path, isReplaced: true) }
    if let events, events != "-" { try Self.checkWritable(events, isReplaced: false) }
  }

  /// - Parameter isReplaced: a new file takes the place of the one that is there.
  private static func checkWritable(_ path: String, isReplaced: Bool) throws {
    // `--report "$FILE"` without the variable names nothing.
    guard !path.isEmpty else { throw End(.cannotCreate, OutputFileError(path, errno: ENOENT).description) }
    if Files.isFolder(path) { throw End(.cannotCreate, OutputFileError(path, errno: EISDIR).description) }
    guard access(writtenPlace(of: path, isReplaced: isReplaced), W_OK) == 0 else {
      throw End(.cannotCreate, OutputFileError(path, errno: errno).description)
    }
  }

  /// The file that is written to, or the folder that gets another one.
  static func writtenPlace(of path: String, isReplaced: Bool) -> String {
    let isWrittenTo = isReplaced ? ReportFile.isSpecial(path) : Files.exists(path)
    return isWrittenTo ? path : PathParts(Paths.real(path)).parent
  }
}

/// What of a run is logged, and how.
package struct LogSettings: Sendable {
  package enum Level: String, Sendable, CaseIterable { case debug, info, warning, error }
  package enum Format: String, Sendable, CaseIterable { case text, json, journal }

  package var level = Level.warning
  package var format = Format.text
  package var isQuiet = false

  package init() {}
}
