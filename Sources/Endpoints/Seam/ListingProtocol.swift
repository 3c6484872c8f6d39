package import JobModel

/// How a protocol names what lies below a prefix, page by page. A value: requests out, meanings in, no I/O.
package protocol ListingProtocol: RemoteProtocol {
  /// - Parameter page: the mark of the page wanted; nil for the first.
  func list(_ prefix: String, page: String?) -> Request
  /// Asks for the page that begins behind a name, which need not be there, for kinds whose listings tell versions
  /// (`EndpointAbilities.listsVersions`); nil where listings begin at their beginning.
  ///
  /// - Parameter name: the prefix, and what is behind it.
  func list(_ prefix: String, after name: String) -> Request?
  /// Asks for what lies right below a prefix: its entries and its folders, one page of them; nil where listings go folder
  /// by folder.
  func listFolders(_ prefix: String) -> Request?
  /// - Parameter page: the mark that was asked for.
  func listed(
    _ response: Response, prefix: String, page: String?, now: Double
  ) -> Result<ListedPage, Failure>
}

extension ListingProtocol {
  package func list(_ prefix: String, after name: String) -> Request? { nil }
  package func listFolders(_ prefix: String) -> Request? { nil }
}

/// Some of what lies below a prefix: in the order of names, or folder by folder where the store keeps folders.
package struct ListedPage: Sendable, Hashable {
  package struct Entry: Sendable, Hashable {
    /// Below the prefix.
    package var path: String
    /// Bytes.
    package var size: Int64?
    /// As a header has it, quotes included (RFC 9110, 8.8.3); weak tags without their `W/`.
    package var etag: String?
    /// When it was stored, seconds since 1970.
    package var modified: Double?
    /// nil for files.
    package var nonFile: NonFile?

    package init(
      path: String, size: Int64?, etag: String? = nil, modified: Double? = nil, nonFile: NonFile? = nil
    ) {
      self.path = path
      self.size = size
      self.etag = etag
      self.modified = modified
      self.nonFile = nonFile
    }

    /// It is the version that is on record: its ETag and all else that both tell are the same.
    package func vouches(for known: RemoteObject) -> Bool {
      guard let size, size == known.size, let etag, etag == known.etag else { return false }
      guard let modified, let recorded = known.lastModified.flatMap(HTTPDate.seconds) else { return true }
      return modified.rounded(.down) == recorded
    }
  }
  package var entries: [Entry]
  /// Below the prefix, each with its `/`; where folders were asked for.
  package var folders: [String] = []
  /// The mark of the page behind this one; nil at the end.
  package var next: String?

  package init(entries: [Entry], next: String? = nil) {
    self.entries = entries
    self.next = next
  }
}
