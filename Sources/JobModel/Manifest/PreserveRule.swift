/// `preserve`: which attributes go along with the bytes, and which of them may not be lost.
package struct PreserveRule: Sendable, Hashable {
  /// All that both ends know.
  package var takesAvailable = false
  /// Attributes that are asked for by name; true where the loss fails the transfer (`tags!`).
  package var named: [Attribute: Bool] = [:]
  /// The manifest does not say it: what can't be kept is no loss then.
  package var isImplied = false

  package static let available = PreserveRule(takesAvailable: true)
  package static let none = PreserveRule()

  private init(takesAvailable: Bool = false, named: [Attribute: Bool] = [:], isImplied: Bool = false) {
    self.takesAvailable = takesAvailable
    self.named = named
    self.isImplied = isImplied
  }

  /// Where the manifest says nothing. A local file has no place for a content type, so that a download keeps nothing.
  package static func standard(_ verb: Verb) -> PreserveRule {
    switch verb {
    case .copy: .available
    case .upload: PreserveRule(named: [.contentType: false], isImplied: true)
    case .download: .none
    }
  }

  /// Reads the words of a list.
  package init(_ words: [String]) throws(ValueFault) {
    for word in words {
      switch word {
      case "available": takesAvailable = true
      case "none":
        guard words.count == 1 else {
          throw ValueFault("`none` stands with other words", hint: "write `preserve: none` by itself")
        }
      default: try add(word)
      }
    }
  }

  private mutating func add(_ word: String) throws(ValueFault) {
    let isDemanded = word.hasSuffix("!")
    let name = isDemanded ? String(word.dropLast()) : word
    guard let attribute = Attribute(rawValue: name) else {
      let words = Attribute.allCases.map(\.rawValue)
      let near = NearMiss.of(name, among: words + ["available", "none"])
      throw ValueFault(
        "`\(word)` is not an attribute",
        hint: near.map { "did you mean `\($0)`?" }
          ?? "`available`, `none`, or a list of \(words.joined(separator: ", ")), each with `!` behind it where "
          + "its loss is to fail the transfer")
    }
    guard named.updateValue(isDemanded, forKey: attribute) == nil else {
      throw ValueFault("`\(name)` is there twice", hint: "write it once")
    }
  }

  /// As the manifest writes it.
  package var words: [String] {
    let names = Attribute.allCases.compactMap { attribute in
      named[attribute].map { attribute.rawValue + ($0 ? "!" : "") }
    }
    let all = (takesAvailable ? ["available"] : []) + names
    return all.isEmpty ? ["none"] : all
  }

  package func asks(for attribute: Attribute) -> Bool { takesAvailable || named[attribute] != nil }
  package func demands(_ attribute: Attribute) -> Bool { named[attribute] == true }
  package var demanded: Set<Attribute> { Set(named.filter(\.value).keys) }
}
