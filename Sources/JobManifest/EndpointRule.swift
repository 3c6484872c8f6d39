internal import JobModel
internal import ManifestFields
internal import YAML

/// `endpoints`: each type with its own keys.
enum EndpointRule {
  static func readAll(_ top: Fields, policies: PolicyTable) -> EndpointTable {
    var table = EndpointTable()
    guard let node = top.node("endpoints") else { return table }
    guard let mapping = node.mapping else {
      top.error(
        Fields.wrongType(node, wanted: "a mapping of names to endpoints", key: "endpoints"), at: "endpoints")
      return table
    }
    for entry in mapping where !entry.key.hasPrefix("x-") {
      if !isName(entry.key) {
        top.scope.faults.error(
          "`\(entry.key)` is not an endpoint's name", at: entry.keyMark,
          hint: "lower-case letters, digits, `_` and `-`")
      }
      let before = top.scope.faults.errorCount
      let endpoint = read(entry, scope: top.scope, policies: policies)
      if let endpoint { table.named[entry.key] = endpoint }
      if endpoint == nil || top.scope.faults.errorCount > before { table.broken.insert(entry.key) }
    }
    return table
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F || $0 == 0x2D
      }
  }

  private static func read(_ entry: YAMLEntry, scope: Scope, policies: PolicyTable) -> Endpoint? {
    let path = "endpoints.\(entry.key)"
    let type = entry.value["type"]?.scalar?.text
    let own = EndpointKindRule.keys[type ?? ""]
    // Of an unknown type, any type's keys may be meant: that one fault is enough.
    let keys = KeyShape.endpointCommon + (own ?? EndpointKindRule.keys.values.flatMap { $0 })
    let name = type.map { own == nil ? "an endpoint" : "an endpoint of type `\($0)`" } ?? "an endpoint"
    let shape = KeyShape(name: name, keys: keys)
    guard let fields = Fields(entry.value, shape: shape, path: path, scope: scope) else { return nil }
    fields.require("type", hint: "type: \(EndpointKindRule.words.joined(separator: ", "))")
    fields.require("url", hint: "url: https://files.example.net/api")
    let kind = EndpointKindRule.read(fields)
    let url = fields.value("url", URLRule.base)
    let authentication = AuthRule.read(fields)
    let headers = HeaderRule.read(fields, allowed: .settled)
    let reference = PolicyReference.read(fields, policies: policies)
    var tls = Policy()
    TLSRule.read(fields, into: &tls)
    if case .kii? = kind, let url, !url.hasSuffix("/api") {
      fields.error("the URL of a `kii` endpoint ends in `/api`", at: "url", hint: "\(url)/api")
    }
    if case .aws? = authentication, case .some(let kind) = kind, kind.word != "s3" {
      fields.error("`aws` signs the requests of `s3` endpoints only", at: "auth")
    }
    guard let kind, let url else { return nil }
    var policy = reference?.policy ?? Policy()
    policy.overlay(tls)
    return Endpoint(
      name: entry.key, kind: kind, url: url, authentication: authentication ?? .none, policy: policy,
      policyName: reference?.name, headers: headers.compactMap(\.setting))
  }
}

/// The endpoints of a manifest, and the names of those with faults of their own.
struct EndpointTable {
  var named: [String: Endpoint] = [:]
  var broken: Set<String> = []

  func isDeclared(_ name: String) -> Bool { named[name] != nil || broken.contains(name) }
}
