import Endpoints
import JobManifest
import JobModel
import Planner

/// A manifest: its text, its rules, and its plan where that touches no file.
enum ManifestTarget {
  static func run(_ bytes: [UInt8]) throws {
    let result = ManifestReader.read(
      bytes, path: "jobs/job.yaml", directory: "/nonexistent/haul-fuzz",
      environment: { $0 == "HOME" ? "/nonexistent" : nil })
    let hasErrors = result.diagnostics.contains { $0.severity == .error }
    try require((result.job == nil) == hasErrors, "a job with errors, or none without")
    let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
    for diagnostic in result.diagnostics {
      try require(!diagnostic.message.isEmpty, "a diagnostic without words")
      guard let mark = diagnostic.mark else { continue }
      // YAML also ends lines at a bare CR, NEL, LS and PS: each is at least a byte.
      try require(mark.line >= 1 && mark.line <= lines + bytes.count, "line \(mark.line) of \(lines)")
      try require(mark.column >= 1 && mark.column <= bytes.count + 2, "column \(mark.column)")
    }
    guard let job = result.job, job.templates.allSatisfy(staysInside) else { return }
    try plan(job)
  }

  static func plan(_ job: Job) throws {
    var transfers: [PlannedTransfer] = []
    let diagnostics = try JobPlanner.expand(
      job, run: RunValues(id: "RUN1", startedAt: 1_785_369_600), uuid: { "uuid-of-\($0)" },
      lister: { _, _, _, entry in
        try entry(ListedPage.Entry(path: "a", size: 1))
        try entry(ListedPage.Entry(path: "b/c.bin", size: nil))
      }
    ) { transfers.append($0) }
    guard !diagnostics.contains(where: { $0.severity == .error }) else { return }
    let ids = Set(transfers.map { Array($0.id.utf8) })
    try require(ids.count == transfers.count, "an id came twice")
    for planned in transfers {
      try require(!planned.id.isEmpty, "an empty id")
      try require((planned.expect.size ?? 0) >= 0, "a negative size")
      for (algorithm, digest) in planned.expect.digests {
        try require(digest.utf8.count == algorithm.hexLength, "\(algorithm) of \(digest.utf8.count) digits")
      }
      try checkDestination(planned)
    }
  }

  private static func checkDestination(_ planned: PlannedTransfer) throws {
    guard planned.settings.isEnabled, !planned.settings.allowsOutside,
      case .local(let path) = planned.destination, planned.settings.direction == .download
    else { return }
    let parts = path.utf8.split(separator: UInt8(ascii: "/")).map { String($0) ?? "" }
    try require(!path.utf8.starts(with: "/".utf8), "a destination outside: \(path)")
    try require(!parts.contains(".."), "a destination outside: \(path)")
    try require(!path.utf8.contains(0), "a destination with NUL")
  }

  /// Whether expanding the template lists no folder and opens no file of this machine.
  private static func staysInside(_ template: TransferTemplate) -> Bool {
    func isBelow(_ path: String) -> Bool {
      let bytes = Array(path.utf8)
      return !path.isEmpty && !["/", "~", "$"].contains(path.first) && !path.contains("..")
        && !bytes.contains(0)
    }
    switch template.fanOut {
    case .single, .prefix: return true
    case .glob:
      return isBelow(template.source.text.text.written) && !template.source.text.text.written.contains("$")
    case .rows(let source, _): return isBelow(source.path)
    }
  }
}
