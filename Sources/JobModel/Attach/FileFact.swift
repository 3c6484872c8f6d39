/// What the values of `then` may say of the finished file, besides `${id}`.
package enum FileFact: Sendable, Hashable, CaseIterable {
  /// What the service calls the file.
  case remoteID
  case version, etag, size, contentType, path
  case digest(DigestAlgorithm)

  package static let allCases: [FileFact] =
    [.remoteID, .version, .etag, .size, .contentType, .path] + DigestAlgorithm.allCases.map { .digest($0) }

  private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

  /// - Parameter name: `file.size`.
  package init?(name: String) {
    guard let fact = Self.byName[name] else { return nil }
    self = fact
  }

  /// As the manifest writes it, without the braces.
  package var name: String {
    switch self {
    case .remoteID: "file.remote_id"
    case .version: "file.version"
    case .etag: "file.etag"
    case .size: "file.size"
    case .contentType: "file.content_type"
    case .path: "file.path"
    case .digest(let algorithm): "file.\(algorithm.rawValue)"
    }
  }
}
