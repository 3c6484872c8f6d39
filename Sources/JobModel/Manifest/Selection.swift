/// Transfers that a command speaks of: an id, what lies below it, or a glob of ids (`--only`).
package struct Selection: Sendable, Hashable {
  package let text: String
  private let pattern: GlobPattern

  package init(_ text: String) throws(ValueFault) {
    self.text = text
    pattern = try GlobPattern(text)
  }

  /// What all ids of the selection begin with.
  package var prefix: String { pattern.isLiteral ? GlobPattern.unescape(text) : pattern.fixedPart }

  package func includes(_ id: String) -> Bool {
    pattern.matches(id) || (pattern.isLiteral && id.hasPrefix(GlobPattern.unescape(text) + "/"))
  }
}
