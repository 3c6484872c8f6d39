/// An extra request header: its value as text, or a secret to be had when the request is made.
package struct HeaderSetting: Sendable, Hashable {
  package enum Value: Sendable, Hashable {
    case text(String)
    case secret(SecretReference)
  }
  package var name: String
  package var value: Value

  package init(name: String, value: Value) {
    self.name = name
    self.value = value
  }
}
