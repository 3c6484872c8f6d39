import JobModel

@testable import Reporting

/// A report that is made up.
struct GivenReport: Report {
  var top: JSON = ["job": ["name": "nightly"], "run": ["outcome": "failed", "exit_code": .integer(1)]]
  var items: [JSON] = []

  func lastSuccess() -> Double? { nil }
  func members() -> [JSON.Member] { top.members ?? [] }
  func transfers(_ extent: TransferExtent, _ body: (JSON) throws -> Void) throws -> [JSON.Member] {
    for item in items { try body(item) }
    return []
  }
  func evidence() -> Evidence {
    var evidence = Evidence()
    for item in items { evidence.add(item) }
    return evidence
  }
  func text(isColoured: Bool) -> String { "" }
  func writeJSON(to sink: @escaping ByteSink) throws { try sink(Array(JSON.object(members()).text.utf8)) }
}
