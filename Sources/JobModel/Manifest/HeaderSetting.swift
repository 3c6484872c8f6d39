/// An extra request header: its value as text, which may still say what is known only later, or a secret to be had when
/// the request is made.
package struct ExtraHeader<Text: Sendable & Hashable>: Sendable, Hashable {
  package enum Value: Sendable, Hashable {
    case text(Text)
    case secret(SecretReference)
  }
  package var name: String
  package var value: Value

  package init(name: String, value: Value) {
    self.name = name
    self.value = value
  }

  /// nil where it is a secret.
  package var text: Text? { if case .text(let text) = value { text } else { nil } }

  /// The header with another text; a secret stays as it is.
  package func map<Other: Sendable & Hashable, Fault: Error>(
    _ other: (Text) throws(Fault) -> Other
  ) throws(Fault) -> ExtraHeader<Other> {
    switch value {
    case .text(let text): ExtraHeader<Other>(name: name, value: .text(try other(text)))
    case .secret(let secret): ExtraHeader<Other>(name: name, value: .secret(secret))
    }
  }
}

/// As it is sent.
package typealias HeaderSetting = ExtraHeader<String>
/// As the manifest has it, with its place.
package typealias HeaderTemplate = ExtraHeader<MarkedText>

extension HeaderTemplate {
  /// The header where no row has a say in it.
  package var setting: HeaderSetting? {
    switch value {
    case .secret(let secret): HeaderSetting(name: name, value: .secret(secret))
    case .text(let text): text.text.literal.map { HeaderSetting(name: name, value: .text($0)) }
    }
  }
}
