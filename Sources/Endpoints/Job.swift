package import JobModel

/// A manifest, read and resolved: what `JobManifest` makes and `Planner` expands.
package struct Job: Sendable {
  package var name: String
  package var description: String?
  package var version: Int
  /// As given on the command line.
  package var manifestPath: String
  /// The manifest's folder, absolute: relative paths start here.
  package var directory: String
  package var endpoints: [String: Endpoint]
  package var policies: [String: Policy]
  /// Values after `--set`.
  package var variables: [String: String]
  package var templates: [TransferTemplate]
  package var limits = JobLimits()
  /// Where it asks for secrets, in the order of the manifest.
  package var secrets: [SecretUse] = []
  /// What `on` says, and the policy that its requests keep to; nil where faults of the manifest hide it.
  package var notices: [NoticeTemplate] = []
  package var noticePolicy: EffectivePolicy?
  /// Resolved paths of the files that it imports.
  package var imports: [String] = []
  /// Where its name is written.
  package var namePlace: MarkedText?

  package init(
    name: String, description: String?, version: Int, manifestPath: String, directory: String,
    endpoints: [String: Endpoint], policies: [String: Policy], variables: [String: String],
    templates: [TransferTemplate]
  ) {
    self.name = name
    self.description = description
    self.version = version
    self.manifestPath = manifestPath
    self.directory = directory
    self.endpoints = endpoints
    self.policies = policies
    self.variables = variables
    self.templates = templates
  }
}
