import Digests
import Foundation
import JobLedger
import JobModel
import Planner
import Protocols

/// Compiles a job into its ledger: all of it, or nothing where a fault is found.
enum PlanCompiler {
  struct Faulty: Error {
    var diagnostics: [Diagnostic]
  }

  struct Compiled {
    var change: PlanChange
    /// Warnings.
    var diagnostics: [Diagnostic]
    /// Local sources that are not there, by transfer id.
    var missing: [String]
    var missingCount: Int
  }

  /// An object: handing it on counts one reference, and not all of a transfer's, which two cores share.
  private final class Row: Sendable {
    let transfer: PlannedTransfer
    let identity: [UInt8]

    init(_ transfer: PlannedTransfer, identity: [UInt8]) {
      self.transfer = transfer
      self.identity = identity
    }
  }

  /// Missing sources are named up to this many, and counted beyond.
  static let missingLimit = 100

  /// - Throws: `Faulty`; `LedgerError`; `Failure` where a remote prefix can't be listed.
  /// - Parameter mark: what the plan is compiled from (`CompileMark`); nil where that can't be told.
  static func compile(
    _ job: Job, run: RunValues, mark: String?, into ledger: JobLedger, lister: PrefixLister?
  ) throws -> Compiled {
    if let mark, let kept = try ledger.compiled(from: mark) {
      return Compiled(change: kept, diagnostics: [], missing: [], missingCount: 0)
    }
    var diagnostics: [Diagnostic] = []
    var missing: [String] = []
    var missingCount = 0
    let change = try ledger.compile(from: { diagnostics.isEmpty ? mark : nil }) { add in
      // Rows are read and put together on one core while the other stores them.
      diagnostics = try Relay<Row>.run { give in
        try JobPlanner.expand(job, run: run, uuid: { uuid(job.name, $0) }, lister: lister?.list) {
          try give(Row($0, identity: try identity($0, job)))
        }
      } use: { row in
        if isMissing(row.transfer) {
          missingCount += 1
          if missing.count < missingLimit { missing.append(row.transfer.id) }
        }
        try add(row.transfer, row.identity)
      }
      if diagnostics.contains(where: { $0.severity == .error }) { throw Faulty(diagnostics: diagnostics) }
    }
    return Compiled(change: change, diagnostics: diagnostics, missing: missing, missingCount: missingCount)
  }

  private static func isMissing(_ transfer: PlannedTransfer) -> Bool {
    transfer.settings.direction == .upload && transfer.knownSize == nil && transfer.settings.isEnabled
  }

  /// Expands without keeping anything, for `check`.
  static func check(_ job: Job, run: RunValues) throws -> (transfers: Int, diagnostics: [Diagnostic]) {
    var count = 0
    let diagnostics = try JobPlanner.expand(job, run: run, uuid: { uuid(job.name, $0) }) { _ in count += 1 }
    return (count, diagnostics)
  }

  /// Eight bytes of what progress belongs to: source, destination and endpoint. A URL's query may be a signature
  /// that is new each day, so it does not count.
  private static func identity(_ transfer: PlannedTransfer, _ job: Job) throws -> [UInt8] {
    let remote = transfer.settings.direction == .download ? transfer.source : transfer.destination
    var source = transfer.source.text
    if case .url(let text) = transfer.source, let cut = text.utf8.firstIndex(of: UInt8(ascii: "?")) {
      source = String(text[..<cut])
    }
    var parts = [transfer.settings.direction.rawValue, source, transfer.destinationIdentity]
    if case .remote(let name, _) = remote, let endpoint = job.endpoints[name] {
      parts += [endpoint.kind.word, endpoint.url] + endpoint.kind.scope
    }
    let digest = try Digest.bytes(of: Array(parts.joined(separator: "\0").utf8), .sha256)
    return Array(digest.prefix(8))
  }

  /// A UUID that is fixed for a transfer (RFC 9562, version 8: our own digest).
  private static func uuid(_ job: String, _ id: String) -> String {
    guard var bytes = try? Digest.bytes(of: Array("\(job)\0\(id)".utf8), .sha256) else { return id }
    bytes[6] = bytes[6] & 0x0f | 0x80
    bytes[8] = bytes[8] & 0x3f | 0x80
    let hex = Hex.encode(bytes.prefix(16))
    var groups: [Substring] = []
    var rest = hex[...]
    for length in [8, 4, 4, 4, 12] {
      groups.append(rest.prefix(length))
      rest = rest.dropFirst(length)
    }
    return groups.joined(separator: "-")
  }
}
