/// Finds and reads the files that a manifest imports; given from outside, as this target opens nothing.
package struct ImportSource: Sendable {
  package enum Fault: Error, Sendable {
    case missing
    /// With the system's reason.
    case unreadable(String)
  }

  /// The manifest's own path, links resolved; nil for one without a file.
  package let manifest: String?
  /// An absolute path with its links resolved.
  package let resolve: @Sendable (String) -> Result<String, Fault>
  /// A file's content, by its resolved path.
  package let read: @Sendable (String) -> Result<[UInt8], Fault>

  package init(
    manifest: String?, resolve: @escaping @Sendable (String) -> Result<String, Fault>,
    read: @escaping @Sendable (String) -> Result<[UInt8], Fault>
  ) {
    self.manifest = manifest
    self.resolve = resolve
    self.read = read
  }

  /// No file can be found.
  package static let none = ImportSource(
    manifest: nil, resolve: { _ in .failure(.missing) }, read: { _ in .failure(.missing) })
}

/// A file that a manifest imported, as it was read.
package struct ImportedFile: Sendable, Hashable {
  /// Absolute, links resolved.
  package var path: String
  package var bytes: [UInt8]
}
