package import JobModel
internal import YAML

extension Fields {
  /// `command`: a program and its arguments, never a shell line.
  ///
  /// - Parameter hint: how it may look.
  package func command(allowed: Scope.Allowed, hint: String) -> [InterpolatedText]? {
    guard let node = self.node("command") else { return nil }
    guard let items = node.sequence else {
      error("`command` is a list: a program and its arguments", at: "command", hint: hint)
      return nil
    }
    let words = items.compactMap { item -> InterpolatedText? in
      guard let scalar = item.scalar, !scalar.isMissing else {
        scope.faults.error(Self.wrongType(item, wanted: "text", key: "command"), at: item.mark)
        return nil
      }
      return scope.interpolate(scalar.text, at: item.mark, allowed: allowed, key: "command")
    }
    guard words.count == items.count else { return nil }
    guard let program = words.first, !program.parts.isEmpty else {
      error("`command` names no program", at: "command", hint: hint)
      return nil
    }
    return words
  }
}
