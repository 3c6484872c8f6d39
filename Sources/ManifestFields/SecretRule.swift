package import JobModel
package import YAML

/// A secret is a reference: `{ env: NAME }`, `{ file: PATH }` or `{ command: [argv…] }`.
package enum SecretRule {
  private static let shape = KeyShape(name: "a secret", keys: ["env", "file", "command"])

  package static func read(_ key: String, in parent: Fields) -> SecretReference? {
    guard let node = parent.node(key) else { return nil }
    return read(node, key: key, path: parent.path(key), scope: parent.scope)
  }

  package static func read(_ node: YAMLNode, key: String, path: String, scope: Scope) -> SecretReference? {
    let form = "write `\(key): { env: NAME }`, `{ file: PATH }` or `{ command: [program, argument] }`"
    if node.scalar != nil {
      scope.faults.secretError("a secret is never written in the manifest", at: node.mark, hint: form)
      return nil
    }
    let keys = shape.keys
    if let other = node.mapping?.first(where: { !keys.contains($0.key) && !$0.key.hasPrefix("x-") }) {
      // The key, or what it has, may be the secret itself.
      let near = NearMiss.of(other.key, among: keys)
      scope.faults.secretError(
        "a secret has `env`, `file` or `command`, and no other key", at: other.keyMark,
        hint: near.map { "did you mean `\($0)`?" } ?? form)
      return nil
    }
    guard let fields = Fields(node, shape: shape, path: path, scope: scope) else { return nil }
    let forms = keys.filter(fields.has)
    guard forms.count == 1 else {
      scope.faults.error("a secret has exactly one of `env`, `file` and `command`", at: node.mark)
      return nil
    }
    let reference: SecretReference? =
      switch forms[0] {
      case "env": fields.value("env", allowed: [], environmentName).map { .environment($0) }
      case "file": fields.file("file", allowed: []).map { .file($0) }
      default: command(fields).map { .command($0) }
      }
    if let reference { scope.uses(.reference(reference), path: path, at: fields.keyMark(forms[0])) }
    return reference
  }

  /// A program and its arguments, never a shell line.
  package static func command(_ fields: Fields) -> [String]? {
    let words = fields.command(allowed: [], hint: "command: [pass, show, depot]")
    return words.map { $0.compactMap(\.literal) }
  }

  private static func environmentName(_ text: String) throws(ValueFault) -> String {
    let isName = text.utf8.enumerated().allSatisfy { index, byte in
      byte == 0x5F || (PercentEncoding.isAlphanumeric(byte) && (index > 0 || !(0x30...0x39).contains(byte)))
    }
    guard isName, !text.isEmpty else {
      throw ValueFault(
        "`\(text)` is not the name of an environment variable", hint: "like DEPOT_TOKEN, without `$`")
    }
    return text
  }
}
