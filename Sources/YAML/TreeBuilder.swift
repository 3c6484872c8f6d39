/// Builds the tree out of events: anchors, aliases, merge keys and their limits.
struct TreeBuilder {
  private struct Frame {
    var isMapping: Bool
    var anchor: String?
    var mark: YAMLMark
    var weight: Int
    var items: [YAMLNode] = []
    var entries: [KeyedNode] = []
    var pendingKey: (text: String, mark: YAMLMark, isPlain: Bool)?
  }

  let limits: YAMLLimits
  private(set) var root: YAMLNode?
  private(set) var faults: [YAMLFault] = []
  private var stack: [Frame] = []
  private var anchors: [String: YAMLNode] = [:]
  private var aliasCount = 0
  private var documents = 0

  init(limits: YAMLLimits) { self.limits = limits }

  /// False when the rest of the stream does not matter.
  mutating func take(_ event: YAMLEvent) throws(YAMLFault) -> Bool {
    if let tag = event.tag, !Self.tags.contains(tag) {
      faults.append(YAMLFault("the tag `\(tag)` is not supported", at: event.mark, hint: "leave it out"))
    }
    switch event.kind {
    case .other, .streamEnd: break
    case .documentStart:
      documents += 1
      if documents == 2 {
        faults.append(
          YAMLFault(
            "a second document begins here", at: event.mark,
            hint: "a manifest is one document: put this one into a file of its own"))
        return false
      }
    case .alias(let name): try place(resolve(name, at: event.mark), isPlain: false)
    case .scalar(let scalar):
      let node = YAMLNode(content: .scalar(scalar), mark: event.mark, weight: event.weight)
      if let anchor = event.anchor { anchors[anchor] = node }
      try place(node, isPlain: scalar.isPlain)
    case .sequenceStart: try open(event, isMapping: false)
    case .mappingStart: try open(event, isMapping: true)
    case .containerEnd: try close()
    }
    return true
  }

  private static let tags: Set<String> = Set(
    ["str", "int", "float", "bool", "null", "map", "seq"].map { "tag:yaml.org,2002:\($0)" } + ["!"])

  private mutating func open(_ event: YAMLEvent, isMapping: Bool) throws(YAMLFault) {
    guard stack.count < limits.depth else {
      throw YAMLFault("nested deeper than \(limits.depth) levels", at: event.mark)
    }
    stack.append(
      Frame(isMapping: isMapping, anchor: event.anchor, mark: event.mark, weight: event.weight))
  }

  private mutating func close() throws(YAMLFault) {
    guard let frame = stack.popLast() else { return }
    let content: YAMLNode.Content
    if frame.isMapping {
      var merge = MappingMerge()
      content = .mapping(merge.resolve(frame.entries))
      faults += merge.faults
    } else {
      content = .sequence(frame.items)
    }
    let node = YAMLNode(content: content, mark: frame.mark, weight: frame.weight)
    if let anchor = frame.anchor { anchors[anchor] = node }
    try place(node, isPlain: false)
  }

  private mutating func resolve(_ name: String, at mark: YAMLMark) throws(YAMLFault) -> YAMLNode {
    aliasCount += 1
    guard aliasCount <= limits.aliases else {
      throw YAMLFault("more than \(limits.aliases) aliases", at: mark, hint: "write some of them out")
    }
    if stack.contains(where: { $0.anchor == name }) {
      throw YAMLFault("the alias `*\(name)` stands inside what it names", at: mark)
    }
    guard var node = anchors[name] else {
      throw YAMLFault(
        "no anchor `&\(name)` stands before the alias `*\(name)`", at: mark,
        hint: "quote it if the text itself is meant: \"*\(name)\"")
    }
    node.weight += 16
    return node
  }

  private mutating func place(_ node: YAMLNode, isPlain: Bool) throws(YAMLFault) {
    guard let last = stack.indices.last else {
      root = node
      return
    }
    stack[last].weight += node.weight
    guard stack[last].weight <= limits.expandedBytes else {
      throw YAMLFault(
        "aliases expand to more than \(limits.expandedBytes >> 20) MiB", at: node.mark,
        hint: "write less by alias")
    }
    guard stack[last].isMapping else {
      stack[last].items.append(node)
      return
    }
    if let key = stack[last].pendingKey {
      stack[last].entries.append(
        KeyedNode(key: key.text, isMergeKey: key.isPlain && key.text == "<<", keyMark: key.mark, value: node))
      stack[last].pendingKey = nil
    } else if let scalar = node.scalar {
      stack[last].pendingKey = (scalar.text, node.mark, isPlain)
    } else {
      throw YAMLFault("a key must be text", at: node.mark)
    }
  }
}
