/// A place of the manifest that asks for a secret, or for a file of trust, which can be looked for before it is used.
package struct SecretUse: Sendable, Hashable {
  package enum Source: Sendable, Hashable {
    case reference(SecretReference)
    /// `aws: { env: true }`: AWS's own variables.
    case awsEnvironment
    /// A private key's file, by its absolute path.
    case keyFile(String)
    /// Certificates, their keys and known hosts, by their absolute path.
    case file(String)
  }
  package var source: Source
  /// The key's path, like `endpoints.depot.auth.bearer`.
  package var path: String
  package var mark: SourceMark

  package init(_ source: Source, path: String, mark: SourceMark) {
    self.source = source
    self.path = path
    self.mark = mark
  }

  /// The endpoint that the place belongs to; nil elsewhere.
  package var endpoint: String? {
    let parts = path.split(separator: ".", maxSplits: 2)
    return parts.first == "endpoints" && parts.count > 1 ? String(parts[1]) : nil
  }
}
