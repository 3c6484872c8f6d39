package import Endpoints
package import JobModel
internal import ManifestFields
internal import YAML

/// What reading a manifest gave: everything wrong with it, and the job if nothing is.
package struct ManifestResult: Sendable {
  /// Nil when there is an error.
  package var job: Job?
  /// Sorted by place; errors and warnings.
  package var diagnostics: [Diagnostic]
  /// The transfers without faults of their own, so that one pass can also check their rows and globs.
  package var readable: Job?
  /// What the manifest took from the environment, by name; secrets are not among it.
  package var environment: [String: String] = [:]
  /// The files that it imports, and those that they import.
  package var imports: [ImportedFile] = []
}

/// Reads a manifest: every fault in one pass, nothing contacted and nothing written.
package enum ManifestReader {
  /// `path` as the user gave it, `directory` the manifest's absolute folder, `overrides` from `--set`, `imports` finds
  /// the files that it imports.
  package static func read(
    _ bytes: [UInt8], path: String, directory: String, overrides: [String: String] = [:],
    imports: ImportSource = .none,
    environment: @escaping (String) -> String?
  ) -> ManifestResult {
    let document = YAMLParser.parse(bytes)
    let faults = Faults(file: path, text: String(decoding: bytes, as: UTF8.self))
    for fault in document.faults { faults.error(fault.message, at: fault.mark, hint: fault.hint) }
    var readable: Job?
    var used: [String: String] = [:]
    var imported: [ImportedFile] = []
    if let root = document.root {
      let scope = Scope(
        faults: faults, directory: directory, policies: PolicyRule.shapes, environment: environment)
      var rule = ImportRule(root, path: path, source: imports, scope: scope)
      let whole = rule.merged(root)
      imported = rule.files
      readable = JobRule.read(
        whole, path: path, overrides: overrides, hasPlainPolicies: faults.errorCount == 0, scope: scope)
      readable?.imports = imported.map(\.path)
      used = scope.environmentUsed
    } else if document.faults.isEmpty {
      faults.error(
        "the manifest is empty", at: YAMLMark(line: 1, column: 1),
        hint: "it begins with `version: 1` and `job: NAME`")
    }
    let start = SourceMark(file: path, line: 0, column: 0)
    let sorted = faults.diagnostics.sorted { ($0.mark ?? start) < ($1.mark ?? start) }
    return ManifestResult(
      job: faults.errorCount == 0 ? readable : nil, diagnostics: sorted, readable: readable,
      environment: used, imports: imported)
  }

  package static func read(
    _ text: String, path: String, directory: String, overrides: [String: String] = [:],
    imports: ImportSource = .none,
    environment: @escaping (String) -> String?
  ) -> ManifestResult {
    read(
      Array(text.utf8), path: path, directory: directory, overrides: overrides, imports: imports,
      environment: environment)
  }
}
