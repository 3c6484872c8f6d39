/// A key and value as the stream gave them, before merging.
struct KeyedNode {
  var key: String
  var isMergeKey: Bool
  var keyMark: YAMLMark
  var value: YAMLNode
}

/// Makes a mapping's keys unique: refuses repeated ones, and puts in what `<<` merges beneath them.
struct MappingMerge {
  private(set) var faults: [YAMLFault] = []

  mutating func resolve(_ written: [KeyedNode]) -> [YAMLEntry] {
    var places: [String: YAMLMark] = [:]
    var entries: [YAMLEntry] = []
    for item in written {
      if let first = places[item.key] {
        faults.append(
          YAMLFault(
            "the key `\(item.key)` is there already, at line \(first.line), column \(first.column)",
            at: item.keyMark, hint: "keep one of them"))
        continue
      }
      places[item.key] = item.keyMark
      if !item.isMergeKey {
        entries.append(YAMLEntry(key: item.key, keyMark: item.keyMark, value: item.value))
      }
    }
    for item in written where item.isMergeKey {
      for source in sources(of: item) {
        for entry in source where places[entry.key] == nil {
          places[entry.key] = entry.keyMark
          entries.append(entry)
        }
      }
    }
    return entries
  }

  private mutating func sources(of item: KeyedNode) -> [[YAMLEntry]] {
    if let mapping = item.value.mapping { return [mapping] }
    let mappings = item.value.sequence?.compactMap(\.mapping)
    if let mappings, mappings.count == item.value.sequence?.count { return mappings }
    faults.append(
      YAMLFault("`<<` merges a mapping, or a list of mappings", at: item.value.mark, hint: "<<: *anchor"))
    return []
  }
}
