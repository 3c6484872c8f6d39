package import JobModel

/// Takes out of texts what must never be shown: queries and user info of http(s) URLs, signatures.
package enum Masking {
  /// A text for people or reports with the secrets of every URL in it replaced by `***`.
  package static func text(_ text: String) -> String {
    var out = ""
    var rest = text[...]
    while let start = schemeEnd(rest) {
      out += rest[..<start]
      let url = rest[start...].prefix { !endsURL($0) }
      out += masked(url)
      rest = rest[url.endIndex...]
    }
    return withoutSignatures(out + rest)
  }

  /// The place as a manifest writes it; a URL without what may be secret in it.
  package static func place(_ place: Place) -> String {
    switch place {
    case .local, .remote: place.text
    case .url(let url):
      // A whole URL ends where it ends, whatever characters its query has.
      if let start = schemeEnd(url[...]) { url[..<start] + masked(url[start...]) } else { text(url) }
    }
  }

  /// An absolute URL without query and fragment.
  package static func withoutQuery(_ url: String) -> String {
    guard let start = schemeEnd(url[...]) else { return text(url) }
    return url[..<start] + masked(url[start...].prefix { $0 != "?" && $0 != "#" })
  }

  /// A proxy's address without the name and password that it may carry.
  package static func proxy(_ address: String) -> String {
    guard let at = address.lastIndex(of: "@") else { return address }
    let scheme = address.range(of: "://")?.upperBound ?? address.startIndex
    return scheme <= at ? address[..<scheme] + "***" + address[at...] : address
  }

  /// Where the text after the first `http://` or `https://` begins.
  private static func schemeEnd(_ text: Substring) -> Substring.Index? {
    var search = text
    while let mark = search.range(of: "://") {
      let scheme = text[..<mark.lowerBound].suffix(5).lowercased()
      if scheme.hasSuffix("http") || scheme == "https" { return mark.upperBound }
      search = search[mark.upperBound...]
    }
    return nil
  }

  /// `rest` is a URL behind its scheme.
  private static func masked(_ rest: Substring) -> String {
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let host = authority.lastIndex(of: "@").map { "***" + authority[$0...] } ?? String(authority)
    let tail = rest[authority.endIndex...]
    guard let question = tail.firstIndex(of: "?") else { return host + tail }
    return host + tail[..<question] + "?***"
  }

  private static func endsURL(_ character: Character) -> Bool {
    character.isWhitespace || character == "\"" || character == "`" || character == "<" || character == ">"
  }

  /// Servers echo paths with their queries: the parameters that sign are taken out there too.
  private static func withoutSignatures(_ text: String) -> String {
    var out = ""
    var rest = text[...]
    while let mark = rest.firstIndex(where: { $0 == "?" || $0 == "&" }) {
      let name = rest[rest.index(after: mark)...].prefix { $0 != "=" && !endsURL($0) && $0 != "&" }
      out += rest[...mark] + name
      rest = rest[name.endIndex...]
      guard rest.first == "=", signing.contains(name.lowercased()) else { continue }
      out += "=***"
      rest = rest.drop { !endsURL($0) && $0 != "&" }
    }
    return out + rest
  }

  private static let signing: Set<String> = [
    "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential",
    "signature", "sig", "token", "access_token", "awsaccesskeyid",
  ]
}

extension StringProtocol {
  /// The first place of an ASCII needle, without Foundation.
  fileprivate func range(of needle: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(needle), let end = index(start, offsetBy: needle.count, limitedBy: endIndex)
      {
        return start..<end
      }
      start = index(after: start)
    }
    return nil
  }
}
