/// What was read of a YAML text: its tree, if one could be built, and everything wrong with it.
package struct YAMLDocument: Sendable {
  /// Nil for an empty text, or where a fault stopped the reading.
  package var root: YAMLNode?
  package var faults: [YAMLFault]
}

/// Something wrong with a YAML text, with its place and what would be right.
package struct YAMLFault: Sendable, Hashable, Error {
  package var message: String
  package var mark: YAMLMark
  package var hint: String?

  package init(_ message: String, at mark: YAMLMark, hint: String? = nil) {
    self.message = message
    self.mark = mark
    self.hint = hint
  }
}

/// How far aliases may go, so that a small text can't become a large tree.
package struct YAMLLimits: Sendable {
  package var aliases = 100
  /// Bytes of the text with all aliases written out.
  package var expandedBytes = 64 << 20
  package var depth = 100

  package init() {}
}
