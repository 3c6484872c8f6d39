/// What is fuzzed: each target reads bytes that a stranger may have written.
package enum FuzzTarget: String, Sendable, CaseIterable {
  /// A manifest, and its plan.
  case manifest
  /// Row files: CSV, JSON lines, checksums, lists.
  case rows
  /// The head of an answer to a download.
  case headers
  /// Answers of the chunk-session API.
  case responses
  /// JSON of servers and ledgers.
  case json
  /// URLs and redirects.
  case addresses
  /// Text that is shown or written as JSON.
  case texts
  /// What depot reads of a request before it touches a file.
  case requests
  /// depot's fault files.
  case faults
  /// Requests to a depot that is running.
  case depot

  /// Reads one input to its end. Throws `Violation` where what came out may not be.
  package func run(_ bytes: [UInt8]) throws {
    switch self {
    case .manifest: try ManifestTarget.run(bytes)
    case .rows: try RowsTarget.run(bytes)
    case .headers: try HeadersTarget.run(bytes)
    case .responses: try AnswersTarget.run(bytes)
    case .json: try JSONTarget.run(bytes)
    case .addresses: try AddressesTarget.run(bytes)
    case .texts: try TextsTarget.run(bytes)
    case .requests: try RequestsTarget.run(bytes)
    case .faults: try FaultsTarget.run(bytes)
    case .depot: try DepotTarget.run(bytes)
    }
  }
}
