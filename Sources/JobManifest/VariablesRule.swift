internal import JobModel
internal import ManifestFields
internal import YAML

/// `vars`, with what `--set` gives over them. A variable may use others.
enum VariablesRule {
  static func read(_ top: Fields, overrides: [String: String]) {
    let scope = top.scope
    var open: [YAMLEntry] = []
    if let node = top.node("vars") {
      guard let mapping = node.mapping else {
        top.error(Fields.wrongType(node, wanted: "a mapping of names to values", key: "vars"), at: "vars")
        return
      }
      open = mapping.filter { !$0.key.hasPrefix("x-") }
    }
    let declared = Set(open.map(\.key))
    for name in overrides.keys.sorted() where !declared.contains(name) && !scope.lacksNames {
      let near = NearMiss.of(name, among: declared.sorted())
      scope.faults.commandLineError(
        "`--set \(name)=…`: the variable `\(name)` is not declared",
        hint: near.map { "did you mean `\($0)`?" } ?? "declare it under `vars`")
    }
    for entry in open {
      if !isName(entry.key) {
        scope.faults.error(
          "`\(entry.key)` is not a variable's name", at: entry.keyMark,
          hint: "letters, digits, `.`, `_` and `-`")
      }
      if let value = overrides[entry.key] { scope.variables[entry.key] = value }
    }
    resolve(open.filter { overrides[$0.key] == nil }, scope: scope)
  }

  /// In the order of their use; what is left over when nothing moves is a circle.
  private static func resolve(_ entries: [YAMLEntry], scope: Scope) {
    var open: [(entry: YAMLEntry, text: String, uses: Set<String>)] = []
    for entry in entries {
      guard let scalar = entry.value.scalar, !scalar.isMissing else {
        scope.faults.error(
          Fields.wrongType(entry.value, wanted: "text", key: "vars.\(entry.key)"), at: entry.value.mark)
        scope.brokenVariables.insert(entry.key)
        continue
      }
      open.append((entry, scalar.text, uses(scalar.text)))
    }
    while !open.isEmpty {
      let waiting = Set(open.map(\.entry.key))
      let ready = open.filter { $0.uses.isDisjoint(with: waiting) }
      open.removeAll { $0.uses.isDisjoint(with: waiting) }
      if ready.isEmpty {
        for item in open {
          scope.faults.error("the variable `\(item.entry.key)` is made of itself", at: item.entry.value.mark)
          scope.brokenVariables.insert(item.entry.key)
        }
        return
      }
      for item in ready { settle(item.entry, item.text, scope: scope) }
    }
  }

  private static func settle(_ entry: YAMLEntry, _ text: String, scope: Scope) {
    let (value, used) = scope.tracksEnvironment {
      scope.interpolate(text, at: entry.value.mark, allowed: .settled, key: "vars")?.literal
    }
    if let value { scope.variables[entry.key] = value } else { scope.brokenVariables.insert(entry.key) }
    if used { scope.environmentVariables.insert(entry.key) }
  }

  private static func uses(_ text: String) -> Set<String> {
    guard let parsed = try? InterpolationParser.parse(text) else { return [] }
    return Set(
      parsed.references.compactMap { reference in
        if case .variable(let name) = reference.name { name } else { nil }
      })
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { PercentEncoding.isIDByte($0) && $0 != 0x2F }
  }
}
