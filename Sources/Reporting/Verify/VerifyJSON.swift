package import JobModel

/// Writes `haul.verify/v1`, a finding at a time: `begin`, `add` for each, `finish`.
package final class VerifyJSON {
  private let stream: JSONStream

  package init(_ sink: @escaping ByteSink) { stream = JSONStream(sink) }

  /// - Parameter question: what was to be compared, as `selection` says it.
  package func begin(job: String, toolVersion: String, question: JSON) throws {
    try stream.beginObject()
    try stream.member("schema", .string("haul.verify/v1"))
    try stream.member("tool", CommonJSON.tool(toolVersion))
    try stream.member("job", .string(job))
    try stream.member("selection", question)
    try stream.beginArray("findings")
  }

  package func add(_ finding: VerifyFinding) throws { try stream.element(finding.json) }

  package func finish(_ totals: VerifyTotals, isComplete: Bool) throws {
    stream.end()
    try stream.member("totals", totals.json)
    try stream.member("complete", .bool(isComplete))
    stream.end()
    try stream.finish()
  }
}
