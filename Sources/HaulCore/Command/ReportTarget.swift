import Glibc
import JobLedger
import JobModel
import LocalFiles
package import Reporting

/// A file that gets a report, in the form that its name asks for.
package struct ReportTarget: Sendable, Hashable {
  /// `-` is standard output.
  let path: String
  let form: ReportForm

  /// - Parameter form: by the file's suffix where left out, and JSON where no form has that.
  package init(_ path: String, as form: ReportForm? = nil) {
    self.path = path
    self.form = form ?? ReportForm(path: path) ?? .json
  }

  /// What `--metrics` names.
  package static func metrics(_ path: String) -> ReportTarget { ReportTarget(path, as: .prometheus) }

  /// What can be written once only: standard output, a pipe, a device.
  var isStream: Bool { path == "-" || ReportFile.isSpecial(path) }

  /// Refuses a path whose file a report, or events, would take the place of.
  ///
  /// - Parameters:
  ///   - inputs: files that are read; `-` is none.
  ///   - words: what they are.
  /// - Throws: `End` with 64 for one of them, and for a file of a job's state.
  static func check(_ path: String, apartFrom inputs: [String], _ words: String) throws {
    guard path != "-", !path.isEmpty else { return }
    let real = Paths.tidied(path)
    let isInput = inputs.contains { $0 != "-" && Paths.tidied($0) == real }
    guard isInput || StateFolder.isOwnFile(real) else { return }
    let owner = isInput ? words : "a file of a job's state"
    throw End(.usage, "`\(path)` is \(owner): a report or events would be written over it")
  }

  /// Refuses a path whose file a download of the job has put there.
  ///
  /// - Throws: `End` with 64.
  static func check(_ path: String, apartFromFilesOf ledger: JobLedger) throws {
    if let owner = try owner(of: path, in: ledger) { throw taken(path, by: owner, .usage) }
  }

  /// The download whose file lies there, as it has left it; nil where none has.
  static func owner(of path: String, in ledger: JobLedger) throws -> String? {
    var status = stat()
    guard path != "-", stat(path, &status) == 0 else { return nil }
    return try ledger.owner(of: FileFacts(status), besides: 0)
  }

  static func taken(_ path: String, by owner: String, _ status: ExitStatus) -> End {
    End(
      status, "`\(path)` is the file of the transfer `\(owner)`: a report or events would be written over it")
  }

  func write(_ report: any Report, to console: Console) throws {
    guard path != "-" else { return try form.write(report) { console.out($0) } }
    // A node exporter is another user, and is to read metrics whatever the umask is.
    try ReportFile.write(path, isPublic: form == .prometheus) { sink in try form.write(report, to: sink) }
  }
}
