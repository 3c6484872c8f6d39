/// What comparing a completed transfer with its record has shown.
package enum Comparison: Sendable, Hashable {
  /// The bytes, or what the endpoint says of them, are those on record.
  case verified
  /// - actual: nil where nothing is there.
  case different(check: String, expected: String?, actual: String?)
  /// Nothing tells whether they are. `isPassing`: asking again later may tell.
  case unverifiable(reason: String, isPassing: Bool = false)

  package static func unverifiable(_ reason: Unverifiable) -> Comparison {
    .unverifiable(reason: reason.rawValue)
  }

  /// Why nothing could be compared, beside the error codes of what failed.
  package enum Unverifiable: String, Sendable, CaseIterable {
    case noDigest = "no_digest"
    case sizeOnly = "size_only"
    case notTold = "not_told"
    case neverCompared = "never_compared"
    case endpointChanged = "endpoint_changed"
    case changedWhileRead = "changed_while_read"

    /// For people.
    package var text: String {
      switch self {
      case .noDigest: "no digest is on record"
      case .sizeOnly: "the server tells the size alone"
      case .notTold: "the server does not tell what it holds"
      case .neverCompared: "it is as it was left, and no digest has shown that it is what was sent"
      case .endpointChanged: "the manifest's endpoint is another one than the last run's"
      case .changedWhileRead: "the file was written to while it was read"
      }
    }
  }
}
