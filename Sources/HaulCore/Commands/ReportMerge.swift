import JobModel
import Reporting

/// `haul report merge`: one report of the reports of all parts of a job.
package enum ReportMerge {
  /// - Parameters:
  ///   - paths: of the parts' reports.
  ///   - isPartial: parts may be missing.
  ///   - isOfRest: only transfers that did not complete.
  ///   - includesAll: every transfer of a very long plan, too, as far as the parts' reports have it.
  /// - Throws: `End`: with 66 for what is no report, with 65 for reports that do not belong together, with 64 where the
  ///   target is one of them.
  package static func write(
    _ paths: [String], isPartial: Bool, isOfRest: Bool, includesAll: Bool, to target: ReportTarget,
    _ console: Console
  ) throws {
    try ReportTarget.check(target.path, apartFrom: paths, "one of the reports to merge")
    do {
      var merged = try MergedReport(paths, isPartial: isPartial, toolVersion: ToolVersion.current)
      if includesAll { merged.scopeLimit = .max }
      let wantsEvery = includesAll || ![.json, .jsonl, .text].contains(target.form)
      if merged.isShortened, wantsEvery, !isOfRest {
        console.print([
          Diagnostic(
            .warning, "some of the reports list only what changed, and so does this one",
            hint: "`haul report JOB --shard I/N --all --format json` writes one that lists every transfer")
        ])
      }
      let report: any Report = isOfRest ? IncompleteReport(merged) : merged
      if target.path == "-", target.form == .text {
        console.out(try report.text(isColoured: console.coloursOutput))
      } else if target.path == "-" {
        // A file that turns out to be damaged in its midst leaves no half of a report behind.
        let buffer = try TempBuffer()
        try target.form.write(report, to: buffer.add)
        try buffer.read(console.out)
      } else {
        try target.write(report, to: console)
      }
    } catch let fault as MergeFault {
      throw End(fault.kind == .unreadable ? .noInput : .invalidManifest, fault.message, hint: fault.hint)
    } catch let error as OutputFileError {
      throw End(.cannotCreate, error.description)
    }
  }
}
