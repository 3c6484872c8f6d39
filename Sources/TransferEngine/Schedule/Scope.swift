package import JobModel

/// Which transfers have a turn (`--only`): a glob of ids; a plain id also means what lies below it.
package struct Scope: Sendable, Hashable {
  package let text: String
  private let pattern: GlobPattern

  package init(_ text: String) throws(ValueFault) {
    self.text = text
    pattern = try GlobPattern(text)
  }

  /// What all ids of the scope begin with.
  var prefix: String { pattern.isLiteral ? GlobPattern.unescape(text) : pattern.fixedPart }

  package func includes(_ id: String) -> Bool {
    pattern.matches(id) || (pattern.isLiteral && id.hasPrefix(GlobPattern.unescape(text) + "/"))
  }
}
