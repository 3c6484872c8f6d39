internal import JobModel
internal import ManifestFields
internal import YAML

/// What one level says with its key `policy`: a name, or a policy written in place.
struct PolicyReference {
  var name: String?
  var policy: Policy

  static func read(_ parent: Fields, policies: PolicyTable) -> PolicyReference? {
    guard let node = parent.node("policy") else { return nil }
    if node.mapping != nil {
      return PolicyRule.read(node, path: parent.path("policy"), scope: parent.scope)
        .map { PolicyReference(name: nil, policy: $0) }
    }
    guard let name = parent.text("policy") else { return nil }
    if let policy = policies.named[name] { return PolicyReference(name: name, policy: policy) }
    guard !policies.broken.contains(name), !parent.scope.lacksNames else { return nil }
    let near = NearMiss.of(name, among: policies.named.keys.sorted())
    parent.error(
      "the policy `\(name)` is not declared", at: "policy",
      hint: near.map { "did you mean `\($0)`?" } ?? "declare it under `policies`, or write it in place")
    return nil
  }
}

/// The policies of a manifest, and the names of those that could not be read.
struct PolicyTable {
  var named: [String: Policy] = [:]
  var broken: Set<String> = []

  static func read(_ top: Fields) -> PolicyTable {
    var table = PolicyTable()
    guard let node = top.node("policies") else { return table }
    guard let mapping = node.mapping else {
      top.error(
        Fields.wrongType(node, wanted: "a mapping of names to policies", key: "policies"), at: "policies")
      return table
    }
    for entry in mapping where !entry.key.hasPrefix("x-") {
      if !isName(entry.key) {
        top.scope.faults.error(
          "`\(entry.key)` is not a policy's name", at: entry.keyMark,
          hint: "letters, digits, `.`, `_` and `-`")
      }
      if let policy = PolicyRule.read(entry.value, path: "policies.\(entry.key)", scope: top.scope) {
        table.named[entry.key] = policy
      } else {
        table.broken.insert(entry.key)
      }
    }
    return table
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { PercentEncoding.isIDByte($0) && $0 != 0x2F }
  }
}
