import Foundation

/// A run of haul with its report.
package struct HaulRun: Sendable {
  package let end: Finished
  /// Null where none was written.
  package let report: JSON
  /// What is wrong with the report by its schema and its sums; empty where all is well.
  package let faults: String

  package init(_ end: Finished, reportPath: String) async throws {
    self.end = end
    guard let data = FileManager.default.contents(atPath: reportPath) else {
      report = .null
      faults = "no report was written; haul said: \(end.errors.suffix(2000))"
      return
    }
    report = try JSON.parse(String(decoding: data, as: UTF8.self))
    faults =
      try await Schema.faults(of: reportPath, name: "report") + Self.wrongTotals(report)
      + (report["run"]["exit_code"].int == Int64(end.status) ? "" : "exit_code is not \(end.status)\n")
  }

  package var status: Int32 { end.status }
  package var errors: String { end.errors }
  package var transfers: [JSON] { report["transfers"].array }
  package var totals: JSON { report["totals"] }
  package var outcome: String? { report["run"]["outcome"].string }
  /// Body bytes that crossed the network.
  package var transferred: Int64 { totals["bytes"]["transferred"].int ?? -1 }

  package subscript(_ id: String) -> JSON { transfers.first { $0["id"].string == id } ?? .null }

  /// A transfer's end in a word or two: `completed`, `paused retries`, `failed NOT_FOUND`.
  package func state(_ id: String) -> String {
    let transfer = self[id]
    return [
      transfer["state"].string ?? "absent", transfer["reason"].string, transfer["error"]["code"].string,
    ].compactMap { $0 }.joined(separator: " ")
  }

  /// Everything the diagnostics say, of the run and of its standard error.
  package var remarks: String {
    report["diagnostics"].array.compactMap { $0["message"].string }.joined(separator: "\n")
  }

  private static func wrongTotals(_ report: JSON) -> String {
    let transfers = report["transfers"].array
    let totals = report["totals"]
    var faults = ""
    func compare(_ name: String, _ told: Int64?, _ counted: Int64) {
      if told != counted {
        faults += "totals.\(name) is \(told.map(String.init) ?? "null"), counted \(counted)\n"
      }
    }
    guard report["transfers_scope"].string == "all" else { return "" }
    compare("transfers", totals["transfers"].int, Int64(transfers.count))
    for state in ["completed", "up_to_date", "failed", "paused", "canceled", "queued", "skipped"] {
      compare(state, totals[state].int, Int64(transfers.count { $0["state"].string == state }))
    }
    // What has left the plan since an earlier attempt of the run is in the totals alone.
    let mayHoldMore = (report["run"]["attempt"].int ?? 1) > 1
    func compareSum(_ name: String, _ told: Int64?, _ counted: Int64) {
      compare(name, told, mayHoldMore ? max(counted, told ?? 0) : counted)
    }
    for kind in ["transferred", "reused", "discarded"] {
      compareSum(
        "bytes.\(kind)", totals["bytes"][kind].int, transfers.reduce(0) { $0 + ($1["bytes"][kind].int ?? 0) })
    }
    for kind in ["requests", "retries"] {
      compareSum(kind, totals[kind].int, transfers.reduce(0) { $0 + ($1[kind].int ?? 0) })
    }
    return faults
  }
}
