package import JobModel

/// How a protocol names what lies below a prefix, page by page. A value: requests out, meanings in, no I/O.
package protocol ListingProtocol: RemoteProtocol {
  /// - Parameter page: the mark of the page wanted; nil for the first.
  func list(_ prefix: String, page: String?) -> Request
  func listed(_ response: Response, prefix: String, now: Double) -> Result<ListedPage, Failure>
}

/// Some of what lies below a prefix, in the order of names.
package struct ListedPage: Sendable, Hashable {
  package struct Entry: Sendable, Hashable {
    /// Below the prefix.
    package var path: String
    /// Bytes.
    package var size: Int64?

    package init(path: String, size: Int64?) {
      self.path = path
      self.size = size
    }
  }
  package var entries: [Entry]
  /// The mark of the page behind this one; nil at the end.
  package var next: String?

  package init(entries: [Entry], next: String? = nil) {
    self.entries = entries
    self.next = next
  }
}
