/// What stands in an ETag (RFC 9110, 8.8.3).
package enum ETag {
  /// As a header has it: JSON may hold it without its quotes.
  package static func quoted(_ tag: String) -> String {
    tag.hasPrefix("\"") || tag.hasPrefix("W/\"") ? tag : "\"\(tag)\""
  }

  /// Without quotes, and without the mark of a weak one: an answer, a header and a proxy may write one ETag in several ways, and
  /// Apache's are weak in an object's first second (weak comparison: 8.8.3.2).
  package static func bare(_ tag: String) -> String {
    let opaque = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
    return opaque.utf8.count >= 2 && opaque.hasPrefix("\"") && opaque.hasSuffix("\"")
      ? String(opaque.dropFirst().dropLast()) : String(opaque)
  }
}
