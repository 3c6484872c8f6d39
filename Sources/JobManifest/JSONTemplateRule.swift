internal import JobModel
internal import ManifestFields
internal import YAML

/// `json`: any YAML value; its texts may say what is known only when it is sent.
struct JSONTemplateRule {
  /// Lists and mappings in each other; nil for any number.
  var deepest: Int?
  let scope: Scope
  let allowed: Scope.Allowed

  /// - Parameter noting: told each text with its place.
  /// - Returns: nil after a fault, which is reported.
  func read(_ node: YAMLNode, depth: Int = 0, noting: (MarkedText) -> Void = { _ in }) -> JSONTemplate? {
    if let deepest, depth >= deepest, node.scalar == nil {
      scope.faults.error("`json` is nested deeper than \(deepest) levels", at: node.mark)
      return nil
    }
    switch node.content {
    case .mapping(let entries):
      let members = entries.compactMap { entry in
        read(entry.value, depth: depth + 1, noting: noting).map { JSONTemplate.Member(entry.key, $0) }
      }
      return members.count == entries.count ? .mapping(members) : nil
    case .sequence(let items):
      let values = items.compactMap { read($0, depth: depth + 1, noting: noting) }
      return values.count == items.count ? .list(values) : nil
    case .scalar(let scalar):
      switch scalar.core {
      case .null: return .value(.null)
      case .bool(let value): return .value(.bool(value))
      case .integer(let value): return .value(.integer(value))
      case .number(let value):
        // An integer of more than 64 bits would lose digits.
        guard value.isFinite, scalar.text.utf8.contains(where: { ".eE".utf8.contains($0) }) else {
          scope.faults.error(
            "JSON can't hold the number `\(scalar.text)` as it is", at: node.mark,
            hint: "quote it: \"\(scalar.text)\"")
          return nil
        }
        return .value(.exact(value))
      case .text(let text):
        guard let put = scope.interpolate(text, at: node.mark, allowed: allowed, key: "json") else {
          return nil
        }
        noting(
          MarkedText(
            text: put, mark: scope.faults.sourceMark(node.mark),
            lineText: scope.faults.lineText(node.mark) ?? ""))
        return .text(put)
      }
    }
  }
}
