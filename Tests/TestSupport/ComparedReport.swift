/// A report without what two runs of the same work differ in: times, hosts, attempts, and names that servers made up.
package struct ComparedReport: Sendable, Hashable {
  package let transfers: [JSON]
  package let totals: JSON
  package let rest: JSON

  private static let passing: Set = [
    "created_at", "updated_at", "started_at", "ended_at", "duration_s", "attempts", "remote_id", "version",
    "etag",
    "max_chunk_attempts", "found", "at", "ordinal",
  ]
  /// What does not count attempts, and stands at every transfer: one that was done in one go leaves the rest out.
  private static let lasting: Set = [
    "id", "direction", "source", "destination", "protocol", "size", "digests", "policy",
  ]

  /// - Parameter wasRepeated: one of the runs was stopped and went on: what it did more often does not count either,
  ///   nor whether a transfer was completed in the last attempt or found up to date in it.
  package init(_ report: JSON, wasRepeated: Bool = false) {
    func plain(_ value: JSON) -> JSON {
      switch value {
      case .object(let members):
        .object(members.filter { !Self.passing.contains($0.key) }.mapValues(plain))
      case .array(let values): .array(values.map(plain))
      case .null, .bool, .integer, .number, .string: value
      }
    }
    transfers = report["transfers"].array.map(plain).map { transfer in
      guard wasRepeated, case .object(let members) = transfer else { return transfer }
      return .object(members.filter { Self.lasting.contains($0.key) })
    }
    totals = wasRepeated ? report["totals"]["transfers"] : plain(report["totals"])
    rest = .array(
      [
        "schema", "job", "diagnostics", "causes", "left_manifest", "selection", "transfers_scope", "policies",
        "capabilities",
      ].map { plain(report[$0]) } + [
        report["run"]["outcome"], report["run"]["exit_code"], report["run"]["shard"],
      ])
  }
}
