/// Why reports can't be merged.
package struct MergeFault: Error, Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// A file is not there, can't be read, or is not a report.
    case unreadable
    /// The reports do not belong together, or one is missing.
    case mismatch
  }

  package let kind: Kind
  package let message: String
  package let hint: String?

  init(_ kind: Kind, _ message: String, hint: String? = nil) {
    (self.kind, self.message, self.hint) = (kind, message, hint)
  }
}
