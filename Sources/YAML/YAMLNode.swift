/// A place in a YAML text: 1-based line and column, the column in Unicode scalars.
package struct YAMLMark: Sendable, Hashable, Comparable {
  /// Which of several texts it is in, by the reader's own count.
  package var file: Int
  package var line: Int
  package var column: Int

  package init(file: Int = 0, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  package static func < (left: YAMLMark, right: YAMLMark) -> Bool {
    (left.file, left.line, left.column) < (right.file, right.line, right.column)
  }
}

/// One node of a YAML tree, aliases put in and merge keys resolved.
package struct YAMLNode: Sendable {
  package enum Content: Sendable {
    case scalar(YAMLScalar)
    case sequence([YAMLNode])
    /// Unique keys, in the order written; merged ones follow the mapping's own.
    case mapping([YAMLEntry])
  }

  package var content: Content
  package var mark: YAMLMark
  /// Bytes that the node stands for when every alias in it is written out.
  var weight: Int

  /// The same place with other entries.
  package func with(_ entries: [YAMLEntry]) -> YAMLNode {
    var node = self
    node.content = .mapping(entries)
    return node
  }

  package var scalar: YAMLScalar? {
    if case .scalar(let scalar) = content { scalar } else { nil }
  }

  package var sequence: [YAMLNode]? {
    if case .sequence(let items) = content { items } else { nil }
  }

  package var mapping: [YAMLEntry]? {
    if case .mapping(let entries) = content { entries } else { nil }
  }

  /// The value of a mapping's key.
  package subscript(key: String) -> YAMLNode? {
    mapping?.first { $0.key == key }?.value
  }
}

/// A key and its value in a mapping.
package struct YAMLEntry: Sendable {
  package var key: String
  package var keyMark: YAMLMark
  package var value: YAMLNode

  package init(key: String, keyMark: YAMLMark, value: YAMLNode) {
    self.key = key
    self.keyMark = keyMark
    self.value = value
  }
}
