/// The keys that one kind of mapping takes.
package struct KeyShape: Sendable {
  /// As a message names it: "a transfer".
  package var name: String
  package var keys: [String]

  package init(name: String, keys: [String]) {
    self.name = name
    self.keys = keys
  }

  package static let job = KeyShape(
    name: "a job",
    keys: [
      "version", "job", "description", "imports", "allow_outside", "vars", "endpoints", "policies",
      "defaults", "limits", "on",
      "transfers",
    ])
  package static let imported = KeyShape(
    name: "an imported file", keys: ["imports", "vars", "endpoints", "policies", "defaults"])

  package static let transferLevel = [
    "chunk_size", "expect", "verify", "content_type", "policy", "refresh", "if_exists", "mode", "mtime",
    "snapshot", "headers", "needs", "then", "for_each", "include", "exclude", "if_empty", "where", "preserve",
    "metadata", "tags", "storage_class", "enabled", "allow_outside",
  ]
  /// Reserved for a later version, wherever they may come to stand.
  package static let later: Set<String> = ["prune"]

  package static let transfer = KeyShape(
    name: "a transfer", keys: ["id", "download", "upload", "copy", "to"] + transferLevel)
  package static let defaults = KeyShape(name: "`defaults`", keys: transferLevel)
  package static let forEach = KeyShape(
    name: "`for_each`", keys: ["csv", "jsonl", "checksums", "list", "inventory", "columns", "key"])
  package static let entryBounds = KeyShape(name: "`where`", keys: ["size", "modified"])
  package static let sizeBounds = KeyShape(name: "`size`", keys: ["min", "max"])
  package static let timeBounds = KeyShape(name: "`modified`", keys: ["after", "before"])
  package static let expect = KeyShape(
    name: "`expect`", keys: ["sha256", "sha512", "sha1", "md5", "crc32c", "size", "type"])

  package static let endpointCommon = ["type", "url", "auth", "policy", "headers", "tls"]
  package static let policyName = "a policy"
  package static let limitsName = "`limits`"

  /// What other tools call a key of a policy.
  private static let otherNames = [
    "retries": "retry: { attempts: … }", "max_retries": "retry: { attempts: … }",
    "tries": "retry: { attempts: … }", "timeout": "timeouts: { request: … }", "rate": "bandwidth: …",
    "rate_limit": "bandwidth: …", "speed": "bandwidth: …", "concurrency": "transfers: …",
    "parallel": "transfers: …",
  ]

  /// Of a key by another tool's name: how it is written here; nil for others.
  package static func meaning(of key: String, in shape: KeyShape) -> String? {
    guard let text = otherNames[key] else { return nil }
    return [policyName, limitsName].contains(shape.name) ? "write `\(text)`" : "write `policy: { \(text) }`"
  }

  /// Where a key that is none of this mapping's would belong.
  ///
  /// - Parameter policies: a policy's mapping, and those below it, each with where it stands.
  package static func home(
    of key: String, besides shape: KeyShape, policies: [(KeyShape, String)]
  ) -> String? {
    let places =
      [
        (transfer, "a transfer, or `defaults`"), (job, "the top level"),
        (KeyShape(name: "an endpoint", keys: endpointCommon), "an endpoint"), (expect, "`expect`"),
      ] + policies
    if shape.name == imported.name, job.keys.contains(key) { return "the manifest that imports it" }
    if ["id", "download", "upload", "copy", "to"].contains(key), shape.name != transfer.name {
      return "a transfer"
    }
    if shape.name == defaults.name, transferLevel.contains(key) { return nil }
    return places.first { $0.0.name != shape.name && $0.0.keys.contains(key) }?.1
  }
}
