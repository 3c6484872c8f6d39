package import JobModel
package import YAML

/// A mapping read by its keys: each accessor reads one key as its type, and reports what is wrong with it.
package struct Fields {
  package let scope: Scope
  package let shape: KeyShape
  /// As a message shows it: `policies.office`.
  package let path: String
  package let mark: YAMLMark
  private let entries: [String: YAMLEntry]

  /// Nil where the node is no mapping, which is reported. Unknown keys are reported here.
  package init?(_ node: YAMLNode, shape: KeyShape, path: String, scope: Scope) {
    guard let mapping = node.mapping else {
      scope.faults.error(Self.wrongType(node, wanted: "a mapping", key: path), at: node.mark)
      return nil
    }
    self.scope = scope
    self.shape = shape
    self.path = path
    mark = node.mark
    var entries: [String: YAMLEntry] = [:]
    for entry in mapping where !entry.key.hasPrefix("x-") {
      if shape.keys.contains(entry.key) {
        entries[entry.key] = entry
      } else {
        Self.refuse(entry, shape: shape, scope: scope)
      }
    }
    self.entries = entries
  }

  package func has(_ key: String) -> Bool { entries[key] != nil }
  package func node(_ key: String) -> YAMLNode? { entries[key]?.value }
  package func keyMark(_ key: String) -> YAMLMark? { entries[key]?.keyMark }
  package func path(_ key: String) -> String { Self.join(path, key) }

  package func error(_ message: String, at key: String, hint: String? = nil) {
    scope.faults.error(message, at: entries[key]?.value.mark ?? mark, hint: hint)
  }

  /// A required key that is not there is a fault of the mapping.
  package func require(_ keys: String..., hint: String? = nil) {
    for key in keys where entries[key] == nil {
      scope.faults.error("\(shape.name) needs `\(key)`", at: mark, hint: hint)
    }
  }

  /// A scalar's text as written, nothing put in.
  package func raw(_ key: String) -> (text: String, mark: YAMLMark)? {
    guard let entry = entries[key] else { return nil }
    guard let scalar = entry.value.scalar, !scalar.isMissing else {
      scope.faults.error(Self.wrongType(entry.value, wanted: "a value", key: key), at: entry.value.mark)
      return nil
    }
    return (scalar.text, entry.value.mark)
  }

  package func marked(_ key: String, allowed: Scope.Allowed) -> MarkedText? {
    guard let raw = raw(key) else { return nil }
    return marked(raw.text, at: raw.mark, allowed: allowed, key: key)
  }

  package func marked(_ text: String, at mark: YAMLMark, allowed: Scope.Allowed, key: String) -> MarkedText? {
    let (put, used) = scope.tracksEnvironment {
      scope.interpolate(text, at: mark, allowed: allowed, key: key)
    }
    guard let put else { return nil }
    var marked = MarkedText(
      text: put, mark: scope.faults.sourceMark(mark), lineText: scope.faults.lineText(mark) ?? "")
    if used, !put.dependsOnEntry { marked.written = scope.written(text) }
    return marked
  }

  package func text(_ key: String, allowed: Scope.Allowed = .settled) -> String? {
    guard let text = marked(key, allowed: allowed)?.text.literal else { return nil }
    guard !text.isEmpty else {
      error("`\(key)` is empty", at: key)
      return nil
    }
    return text
  }

  /// A file's path, made absolute: it is relative to the file that it is written in.
  package func file(_ key: String, allowed: Scope.Allowed = .settled) -> String? {
    guard let path = text(key, allowed: allowed), let mark = node(key)?.mark else { return nil }
    if let fault = RelativePath.shellFault(path) {
      // Secrets take nothing from the environment but by reference.
      let hint = "write an absolute path; a file of that name is `./\(path)`"
      scope.faults.error(
        fault.message, at: mark, hint: allowed.contains(.environment) ? fault.hint : hint)
      return nil
    }
    return scope.absolute(path, at: mark)
  }

  /// A scalar read by its key's own rule.
  package func value<Value>(
    _ key: String, allowed: Scope.Allowed = .settled, _ parse: (String) throws(ValueFault) -> Value
  ) -> Value? {
    guard let raw = raw(key),
      let text = scope.interpolate(raw.text, at: raw.mark, allowed: allowed, key: key)?.literal
    else { return nil }
    do {
      return try parse(text)
    } catch {
      scope.faults.error(error, at: raw.mark)
      return nil
    }
  }

  package func bool(_ key: String) -> Bool? { value(key, ScalarSetting.bool) }

  package func choice<Choice: RawRepresentable<String> & CaseIterable>(_ key: String) -> Choice? {
    value(key) { text throws(ValueFault) in try ScalarSetting.choice(text) }
  }

  package func integer(_ key: String, _ range: ClosedRange<Int>) -> Int? {
    let form =
      range.upperBound == .max
      ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
    return value(key) { text throws(ValueFault) in try Self.integer(text, of: key, range, form: form) }
  }

  /// A whole number, or `auto`.
  package func limit(_ key: String, _ range: ClosedRange<Int>) -> FlightLimit? {
    let form = "`auto`, or \(range.lowerBound) to \(range.upperBound)"
    return value(key) { text throws(ValueFault) in
      text == "auto" ? .auto : .number(try Self.integer(text, of: key, range, form: form))
    }
  }

  private static func integer(
    _ text: String, of key: String, _ range: ClosedRange<Int>, form: String
  ) throws(ValueFault) -> Int {
    guard let number = Units.integer(text) else {
      throw ValueFault("`\(text)` is not a whole number", hint: form)
    }
    guard let value = Int(exactly: number), range.contains(value) else {
      throw ValueFault("`\(key)` is out of range", hint: form)
    }
    return value
  }

  package func duration(_ key: String, allowsZero: Bool = false) -> Double? {
    value(key) { text throws(ValueFault) in
      let seconds = try Units.duration(text)
      guard allowsZero || seconds > 0 else {
        throw ValueFault("`\(key)` must be longer than 0s", hint: "like `30s`")
      }
      return seconds
    }
  }

  package func size(_ key: String) -> Int64? { value(key, Units.size) }

  package func fields(_ key: String, _ shape: KeyShape) -> Fields? {
    guard let node = node(key) else { return nil }
    return Fields(node, shape: shape, path: path(key), scope: scope)
  }

  /// The items of a list; a single scalar stands for a list of one where that is allowed.
  package func items(_ key: String, allowsOne: Bool = false) -> [YAMLNode]? {
    guard let node = node(key) else { return nil }
    if let items = node.sequence { return items }
    if allowsOne, let scalar = node.scalar, !scalar.isMissing { return [node] }
    error(Self.wrongType(node, wanted: "a list", key: key), at: key)
    return nil
  }

  /// A list of texts, each read by a rule.
  package func list<Value>(
    _ key: String, allowsOne: Bool = false, _ parse: (String) throws(ValueFault) -> Value
  ) -> [Value]? {
    items(key, allowsOne: allowsOne)?.compactMap { item -> Value? in
      guard let scalar = item.scalar, !scalar.isMissing else {
        scope.faults.error(Self.wrongType(item, wanted: "text", key: key), at: item.mark)
        return nil
      }
      guard let text = scope.interpolate(scalar.text, at: item.mark, allowed: .settled, key: key)?.literal
      else { return nil }
      do throws(ValueFault) {
        return try parse(text)
      } catch {
        scope.faults.error(error, at: item.mark)
        return nil
      }
    }
  }

  /// A mapping of any names to texts.
  package func texts(_ key: String) -> [String: String]? {
    guard let node = node(key) else { return nil }
    guard let mapping = node.mapping else {
      error(Self.wrongType(node, wanted: "a mapping", key: key), at: key)
      return nil
    }
    var result: [String: String] = [:]
    for entry in mapping {
      guard let scalar = entry.value.scalar, !scalar.isMissing else {
        scope.faults.error(Self.wrongType(entry.value, wanted: "text", key: entry.key), at: entry.value.mark)
        continue
      }
      let text = scope.interpolate(scalar.text, at: entry.value.mark, allowed: .settled, key: entry.key)
      if let literal = text?.literal { result[entry.key] = literal }
    }
    return result
  }

  /// A key's texts by their paths, as `Scope.written` has them.
  package func written(_ key: String) -> [String: String] {
    guard let node = node(key) else { return [:] }
    if let scalar = node.scalar { return [key: scope.written(scalar.text)] }
    return (node.mapping ?? []).reduce(into: [:]) { texts, entry in
      texts["\(key).\(entry.key)"] = entry.value.scalar.map { scope.written($0.text) }
    }
  }

  package static func wrongType(_ node: YAMLNode, wanted: String, key: String) -> String {
    switch node.content {
    case .scalar(let scalar) where scalar.isMissing: "`\(key)` has no value: \(wanted) is wanted"
    case .scalar: "`\(key)` is a scalar here: \(wanted) is wanted"
    case .sequence: "`\(key)` is a list here: \(wanted) is wanted"
    case .mapping: "`\(key)` is a mapping here: \(wanted) is wanted"
    }
  }

  private static func join(_ path: String, _ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

  private static func refuse(_ entry: YAMLEntry, shape: KeyShape, scope: Scope) {
    let key = entry.key
    if KeyShape.later.contains(key) {
      scope.faults.error("`\(key)` is reserved for a later version", at: entry.keyMark, hint: "leave it out")
    } else if let home = KeyShape.home(of: key, besides: shape, policies: scope.policies) {
      scope.faults.error(
        "`\(key)` does not belong into \(shape.name)", at: entry.keyMark, hint: "it belongs into \(home)")
    } else if let meaning = KeyShape.meaning(of: key, in: shape) {
      scope.faults.error("\(shape.name) has no key `\(key)`", at: entry.keyMark, hint: meaning)
    } else if let near = NearMiss.of(key, among: shape.keys) {
      scope.faults.error(
        "\(shape.name) has no key `\(key)`", at: entry.keyMark, hint: "did you mean `\(near)`?")
    } else {
      scope.faults.error(
        "\(shape.name) has no key `\(key)`", at: entry.keyMark,
        hint: "its keys: \(shape.keys.joined(separator: ", ")); a key of your own begins with `x-`")
    }
  }
}
