package import JobModel

/// A report of which only the transfers are given that did not complete: what `haul run --failed` would try again.
package struct IncompleteReport: Report {
  private let base: any Report

  package init(_ base: any Report) { self.base = base }

  package func transfers(_ extent: TransferExtent, _ body: (JSON) throws -> Void) throws -> [JSON.Member] {
    try base.transfers(extent) { if Self.isLeft($0) { try body($0) } }
  }

  /// As `Selection.failed` has it in the ledger.
  private static func isLeft(_ transfer: JSON) -> Bool {
    let reason = transfer["reason"].string ?? ""
    return switch transfer["state"].string {
    case "failed", "queued", "running": true
    case "paused": reason != "user"
    case "skipped": reason.hasPrefix("needs:")
    default: false
    }
  }

  package func lastSuccess() throws -> Double? { try base.lastSuccess() }
  package var knowsLastSuccess: Bool { base.knowsLastSuccess }

  package func members() throws -> [JSON.Member] {
    try base.members().map { $0.name == "transfers_scope" ? .init($0.name, .string("incomplete")) : $0 }
  }

  package func briefMembers() throws -> [JSON.Member] { try base.briefMembers() }
  package func evidence() throws -> Evidence { try base.evidence() }
  package func text(isColoured: Bool) throws -> String { try base.text(isColoured: isColoured) }
}
