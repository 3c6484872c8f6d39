/// Where a secret is to be had; never the secret itself.
package enum SecretReference: Sendable, Hashable {
  case environment(String)
  /// An absolute path; refused when others may read the file.
  case file(String)
  case command([String])
}

/// A resolved secret. It prints masked everywhere; `reveal` is for the request that needs it.
package struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  private let value: String

  package init(_ value: String) { self.value = value }
  package func reveal() -> String { value }
  package var description: String { "***" }
  package var debugDescription: String { "***" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
