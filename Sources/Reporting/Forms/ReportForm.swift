import JobModel

/// A form that a report is written in.
package enum ReportForm: String, Sendable, CaseIterable {
  case json, jsonl, csv, html, ids, junit, prometheus, sha256sums, text

  /// The form of a file by its name's ending; nil where no form has that.
  package init?(path: String) {
    let name = PathParts(path).name.lowercased()
    let found = Self.allCases.first { form in
      form.suffixes.contains { name == $0 || name.hasSuffix("." + $0) }
    }
    guard let found else { return nil }
    self = found
  }

  /// Endings of files' names, behind a dot.
  package var suffixes: [String] {
    switch self {
    case .json: ["json"]
    case .jsonl: ["jsonl", "ndjson"]
    case .csv: ["csv"]
    case .html: ["html", "htm"]
    case .ids: ["ids"]
    case .junit: ["xml"]
    case .prometheus: ["prom"]
    case .sha256sums: ["sha256sums", "sha256"]
    case .text: ["txt"]
    }
  }

  /// - Throws: what the ledger or the sink throws; nothing more is written then.
  package func write(_ report: any Report, to sink: @escaping ByteSink) throws {
    switch self {
    case .json: try report.writeJSON(to: sink)
    case .jsonl: try JSONLinesForm().write(report, to: sink)
    case .csv: try CSVForm().write(report, to: sink)
    case .html: try HTMLForm().write(report, to: sink)
    case .ids: try IDsForm().write(report, to: sink)
    case .junit: try JUnitForm().write(report, to: sink)
    case .prometheus: try PrometheusForm().write(report, to: sink)
    case .sha256sums: try ChecksumsForm().write(report, to: sink)
    case .text: try sink(Array(report.text(isColoured: false).utf8))
    }
  }
}

/// Writes a report in one form, in memory that does not grow with the plan.
protocol FormWriter {
  func write(_ report: any Report, to sink: @escaping ByteSink) throws
}
