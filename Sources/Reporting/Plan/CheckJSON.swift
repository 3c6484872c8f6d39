import JobModel

/// Writes `haul.check/v1`: whether a manifest is right, and all that is to be said of it.
package enum CheckJSON {
  package static func write(_ head: ReportHead, isOK: Bool, to sink: @escaping ByteSink) throws {
    let stream = JSONStream(sink)
    try stream.beginObject()
    try stream.member("schema", .string("haul.check/v1"))
    try stream.member("tool", CommonJSON.tool(head.toolVersion))
    try stream.member(
      "job",
      [
        "name": .text(head.jobName), "manifest": .text(head.manifest),
        "manifest_sha256": .text(head.manifestSHA256), "description": .text(head.description),
      ])
    try stream.member("ok", .bool(isOK))
    try stream.member("diagnostics", .array(head.diagnostics.map(CommonJSON.diagnostic)))
    stream.end()
    try stream.finish()
  }
}
