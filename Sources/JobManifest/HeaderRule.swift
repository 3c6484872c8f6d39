internal import JobModel
internal import ManifestFields
internal import YAML

/// `headers`: names that HTTP allows, values that can't begin another header, secrets by reference only.
enum HeaderRule {
  /// What the transfer itself says, so that a manifest can't.
  private static let own: Set<String> = [
    "content-length", "content-range", "range", "if-range", "transfer-encoding",
  ]
  private static let secret: Set<String> = [
    "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token", "private-token",
    "x-amz-security-token",
  ]

  static func name(_ text: String) throws(ValueFault) -> String {
    guard HeaderSetting.isToken(text) else {
      throw ValueFault("`\(text)` is not a header's name", hint: "letters, digits and `-`, like `X-Team`")
    }
    guard !own.contains(text.lowercased()) else {
      throw ValueFault("haul sets `\(text)` itself", hint: "leave it out")
    }
    return text
  }

  static func read(_ parent: Fields, allowed: Scope.Allowed) -> [HeaderTemplate] {
    guard let node = parent.node("headers") else { return [] }
    guard let mapping = node.mapping else {
      parent.error(Fields.wrongType(node, wanted: "a mapping", key: "headers"), at: "headers")
      return []
    }
    var names: [String: YAMLMark] = [:]
    return mapping.compactMap { entry -> HeaderTemplate? in
      do throws(ValueFault) {
        _ = try name(entry.key)
      } catch {
        parent.scope.faults.error(error, at: entry.keyMark)
        return nil
      }
      if let first = names.updateValue(entry.keyMark, forKey: entry.key.lowercased()) {
        parent.scope.faults.error(
          "the header `\(entry.key)` is there already, at line \(first.line), column \(first.column)",
          at: entry.keyMark)
      }
      return header(entry, parent: parent, allowed: allowed)
    }
  }

  private static func header(_ entry: YAMLEntry, parent: Fields, allowed: Scope.Allowed) -> HeaderTemplate? {
    let faults = parent.scope.faults
    guard let scalar = entry.value.scalar else {
      let path = parent.path("headers") + "." + entry.key
      return SecretRule.read(entry.value, key: entry.key, path: path, scope: parent.scope)
        .map { HeaderTemplate(name: entry.key, value: .secret($0)) }
    }
    guard !scalar.isMissing else {
      faults.error(
        Fields.wrongType(entry.value, wanted: "text", key: entry.key), at: entry.value.mark)
      return nil
    }
    if secret.contains(entry.key.lowercased()) {
      faults.secretError(
        "a secret is never written in the manifest", at: entry.value.mark,
        hint: "write `\(entry.key): { env: NAME }`, `{ file: PATH }` or `{ command: [program, argument] }`")
      return nil
    }
    let use = allowed.subtracting(.environment)
    guard
      let text = parent.marked(scalar.text, at: entry.value.mark, allowed: use, key: "headers")
    else { return nil }
    for case .literal(let literal) in text.text.parts {
      do {
        _ = try HeaderSetting.checked(value: literal)
      } catch {
        faults.error(error, at: entry.value.mark)
        return nil
      }
    }
    return HeaderTemplate(name: entry.key, value: .text(text))
  }
}
