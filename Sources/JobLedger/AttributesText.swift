import JobModel

/// `KeptAttributes` as one text of the ledger: the words of what was preserved, and those of what was lost behind a `-`.
enum AttributesText {
  /// nil where there is nothing to say.
  static func write(_ kept: KeptAttributes) -> String? {
    let words = kept.preserved.inOrder.map(\.rawValue) + kept.lost.inOrder.map { "-" + $0.rawValue }
    return words.isEmpty ? nil : words.joined(separator: " ")
  }

  /// Leaves out words that it does not know.
  static func read(_ text: String) -> KeptAttributes {
    var kept = KeptAttributes()
    for word in text.split(separator: " ") {
      if word.hasPrefix("-") {
        if let attribute = Attribute(rawValue: String(word.dropFirst())) { kept.lost.insert(attribute) }
      } else if let attribute = Attribute(rawValue: String(word)) {
        kept.preserved.insert(attribute)
      }
    }
    return kept
  }
}
