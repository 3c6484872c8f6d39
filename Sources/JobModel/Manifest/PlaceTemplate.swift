/// A source or destination as the manifest writes it, what it is decided as far as its literal beginning tells.
package struct PlaceTemplate: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case local
    case remote(endpoint: String)
    case url
    /// It begins with a reference: each entry decides.
    case undecided
  }
  package var kind: Kind
  /// Without `NAME:` where the kind holds it.
  package var text: MarkedText

  package init(kind: Kind, text: MarkedText) {
    self.kind = kind
    self.text = text
  }

  /// What a text is, by its beginning: `NAME:`, `http://`, `https://`, else a local path.
  /// An `isWhole` text has nothing after it; of another one the kind may be undecided.
  package static func kind(of text: String, isWhole: Bool) -> Kind {
    if URLRule.schemeLength(text) != nil { return .url }
    for (index, byte) in text.utf8.enumerated() {
      switch byte {
      case 0x61...0x7A, 0x30...0x39, 0x5F, 0x2D: continue
      case 0x3A where index > 0:
        return .remote(endpoint: String(decoding: text.utf8.prefix(index), as: UTF8.self))
      default: return .local
      }
    }
    return isWhole ? .local : .undecided
  }
}
