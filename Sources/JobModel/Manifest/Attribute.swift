/// What can go along with an object's bytes, by the words of `preserve`.
package enum Attribute: String, Sendable, Hashable, CaseIterable {
  case contentType = "content_type"
  case contentHeaders = "content_headers"
  case metadata, tags, mtime, mode
}

extension Set<Attribute> {
  /// In the order of the contract.
  package var inOrder: [Attribute] { Attribute.allCases.filter(contains) }
}

/// The headers that `content_headers` means (RFC 9110, 8.4 and 8.5; RFC 6266; RFC 9111, 5.2).
package enum ContentHeader: String, Sendable, Hashable, CaseIterable {
  case encoding = "Content-Encoding"
  case language = "Content-Language"
  case disposition = "Content-Disposition"
  case cacheControl = "Cache-Control"
}
