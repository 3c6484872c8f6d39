import JobLedger
import JobModel

/// Writes `haul.plan/v1`, a transfer at a time: `begin`, `add` for each, `finish`.
package final class PlanJSON {
  private let stream: JSONStream
  private var totals = PlanTotals()
  private var policies = SharedValues<EffectivePolicy>("p")
  private var limits = JobLimits()

  package init(_ sink: @escaping ByteSink) { stream = JSONStream(sink) }

  package func begin(_ head: ReportHead) throws {
    limits = head.limits
    try stream.beginObject()
    try stream.member("schema", .string("haul.plan/v1"))
    try stream.member("tool", CommonJSON.tool(head.toolVersion))
    try stream.member(
      "job",
      [
        "name": .text(head.jobName), "manifest": .text(head.manifest),
        "manifest_sha256": .text(head.manifestSHA256), "description": .text(head.description),
        "limits": JobLimitsJSON.write(limits),
      ])
    try stream.member("diagnostics", .array(head.diagnostics.map(CommonJSON.diagnostic)))
    try stream.beginArray("transfers")
  }

  package func add(_ line: PlanLine) throws {
    totals.add(line)
    try stream.element([
      "id": .string(line.id), "direction": .string(line.direction.rawValue),
      "source": .string(Masking.place(line.source)),
      "destination": .string(Masking.place(line.destination)), "protocol": .string(line.protocolName),
      "size": .int(line.size), "chunk_size": .int(line.chunkSize), "chunks": .int(line.chunks),
      "action": .string(line.action.rawValue), "change": .text(line.change?.rawValue),
      "reason": .text(line.reason), "then": .text(line.then),
      "capabilities": [
        "resumable": line.isResumable.map { .bool($0) } ?? .null,
        "parallel": line.isParallel.map { .bool($0) } ?? .null,
        "verified_by": .array(line.verifiedBy.map { .string($0) }),
      ],
      "policy": line.policy.map {
        policy($0.masked, name: line.policyName)
      }
        ?? .null,
    ])
  }

  /// The first transfer with a policy says all of it.
  private func policy(_ policy: EffectivePolicy, name: String?) -> JSON {
    let known = policies.values.count
    let ref = policies.name(policy)
    let members: [JSON.Member] = [.init("name", .text(name)), .init("ref", .string(ref))]
    return .object(
      policies.values.count == known
        ? members : members + [.init("effective", PolicyJSON.write(policy, jobLimits: limits))])
  }

  /// - Parameter gone: what the manifest no longer has.
  package func finish(gone: (count: Int, ids: [String]) = (0, [])) throws {
    stream.end()
    try stream.member("policies", policies.json { [limits] in PolicyJSON.write($0, jobLimits: limits) })
    try stream.member(
      "gone", ["count": .int(gone.count), "ids": .array(gone.ids.map { .string($0) })])
    try stream.member(
      "totals",
      [
        "transfers": .int(totals.transfers), "bytes": .integer(totals.bytes),
        "unknown_sizes": .int(totals.unknownSizes), "chunks": .int(totals.chunks),
        "bytes_to_move": .integer(totals.bytesToMove),
        "actions": .object(
          PlanLine.Action.allCases.map { .init($0.rawValue, .int(totals.actions[$0] ?? 0)) }),
        "changes": .object(
          PlanLine.Change.allCases.map { .init($0.rawValue, .int(totals.changes[$0] ?? 0)) }
            + [.init("gone", .int(gone.count))]),
      ])
    stream.end()
    try stream.finish()
  }
}
