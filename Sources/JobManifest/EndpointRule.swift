internal import Endpoints
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
    let own = type.flatMap(EndpointRegistry.kind)?.keyNames
    // Of an unknown type, any type's keys may be meant: that one fault is enough.
    let keys = KeyShape.endpointCommon + (own ?? EndpointRegistry.all.flatMap { $0.keyNames })
    let name = type.map { own == nil ? "an endpoint" : "an endpoint of type `\($0)`" } ?? "an endpoint"
    let shape = KeyShape(name: name, keys: keys)
    guard let fields = Fields(entry.value, shape: shape, path: path, scope: scope) else { return nil }
    fields.require("type", hint: "type: \(EndpointRegistry.words.joined(separator: ", "))")
    let kind = fields.value("type", kind)
    let schemes = kind?.schemes ?? .web
    fields.require("url", hint: "url: \(schemes.example)")
    var driver = kind?.read(fields)
    let url = fields.value("url") { text throws(ValueFault) in
      if text.hasSuffix("/") { driver?.noteTrailingSlash() }
      return try URLRule.base(text, schemes)
    }
    let authentication = AuthRule.read(fields)
    if let kind { SSHRule.check(authentication, isReachedBySSH: schemes == .sftp, kind.word, fields) }
    let headers = HeaderRule.read(fields, allowed: .settled)
    let reference = PolicyReference.read(fields, policies: policies)
    var policy = reference?.policy ?? Policy()
    TLSRule.read(fields, into: &policy)
    if let kind, let url {
      do throws(ValueFault) {
        try kind.check(url: url)
      } catch {
        fields.error(error.message, at: "url", hint: error.hint)
      }
    }
    if case .aws? = authentication, let driver, driver.signer == nil {
      fields.error("`aws` signs the requests of \(EndpointRegistry.signed) endpoints only", at: "auth")
    }
    guard let driver, let url else { return nil }
    return Endpoint(
      name: entry.key, driver: driver, url: url, authentication: authentication ?? .none, policy: policy,
      policyName: reference?.name, headers: headers.compactMap(\.setting),
      objectWords: kind?.objectWords(fields) ?? [:])
  }

  private static func kind(_ text: String) throws(ValueFault) -> any EndpointDriver.Type {
    if let kind = EndpointRegistry.kind(text) { return kind }
    let words = EndpointRegistry.words
    let known = EndpointRegistry.all.lazy.compactMap { $0.hint(for: text) }.first
    throw ValueFault(
      "there is no endpoint type `\(text)`",
      hint: known ?? NearMiss.of(text, among: words).map { "did you mean `\($0)`?" }
        ?? "one of \(words.joined(separator: ", "))")
  }
}

/// The endpoints of a manifest, and the names of those with faults of their own.
struct EndpointTable {
  var named: [String: Endpoint] = [:]
  var broken: Set<String> = []

  func isDeclared(_ name: String) -> Bool { named[name] != nil || broken.contains(name) }
}
