import Endpoints
import Glibc
import JobLedger
import JobManifest
package import JobModel
import Posix
import Reporting

/// What `haul check` finds: every fault of a manifest. Neither network nor state is touched.
package struct ManifestCheck: Sendable {
  package let diagnostics: [Diagnostic]
  /// How many transfers the manifest has.
  package let transfers: Int
  private let file: ManifestFile
  private let job: Job?

  /// - Parameter state: no destination may lie in its folders of the job.
  package init(_ file: ManifestFile, overrides: [String: String], sparing state: StateFolder) throws {
    self.file = file
    let read = file.read(overrides: overrides)
    job = read.readable
    guard let job = read.readable ?? read.job else {
      (diagnostics, transfers) = (read.diagnostics, 0)
      return
    }
    let now = SystemClock.now
    let expansion = try PlanCompiler.check(
      job, run: RunValues(id: ULID.make(now: now), startedAt: now),
      sparing: state.folders(for: job))
    diagnostics =
      read.diagnostics + expansion.diagnostics.filter { !read.diagnostics.contains($0) }
    transfers = expansion.transfers
  }

  package func writeJSON(to sink: @escaping ([UInt8]) throws -> Void) throws {
    var head = ReportHead(file, job, diagnostics)
    head.jobName = job?.name
    try CheckJSON.write(head, isOK: errors.isEmpty, to: sink)
  }

  /// Nil where the manifest is valid.
  package var end: End? {
    errors.isEmpty
      ? nil : End(.of(errors), "`\(file.path)`: \(errors.count) \(errors.count == 1 ? "error" : "errors")")
  }

  private var errors: [Diagnostic] { diagnostics.filter { $0.severity == .error } }
}

extension ReportHead {
  /// What documents of a manifest say first.
  init(_ file: ManifestFile, _ job: Job?, _ diagnostics: [Diagnostic]) {
    self.init(toolVersion: ToolVersion.current, jobName: job?.name)
    manifest = file.path
    manifestSHA256 = file.sha256
    description = job?.description
    limits = job?.limits ?? JobLimits()
    self.diagnostics = diagnostics.map(RecordedDiagnostic.init)
  }
}
