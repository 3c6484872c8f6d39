/// Why a scalar is not a value of its key's type, and what would be right.
package struct ValueFault: Error, Sendable, Hashable {
  package var message: String
  package var hint: String?

  package init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}
