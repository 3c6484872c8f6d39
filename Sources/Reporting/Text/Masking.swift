package import JobModel

/// Takes out of texts what must never be shown: queries and user info of http(s) URLs, signatures.
///
/// By scalars: to Swift's characters, a `?` and a combining mark behind it are one, and not a `?`.
package enum Masking {
  private typealias Text = Substring.UnicodeScalarView

  /// A text for people or reports with the secrets of every URL in it replaced by `***`.
  package static func text(_ text: String) -> String {
    guard mayHaveSecrets(text) else { return text }
    var out = ""
    var rest = Substring(text).unicodeScalars
    while let mark = mark(in: rest) {
      let isHTTP = isHTTP(rest[..<mark.lowerBound])
      out += String(rest[..<mark.upperBound])
      rest = rest[mark.upperBound...]
      let url = withoutPunctuation(rest.prefix { !endsURL($0) })
      if isHTTP {
        out += masked(url)
        rest = rest[url.endIndex...]
      } else if let at = authority(url).lastIndex(of: "@"), url[..<at].contains(":") {
        // Of other schemes, known or not, a password is all that is secret.
        out += "***"
        rest = rest[at...]
      }
    }
    return withoutSignatures(out + String(rest))
  }

  /// The place as a manifest writes it; a URL without what may be secret in it.
  package static func place(_ place: Place) -> String {
    switch place {
    case .local(""): return "./"
    case .local, .remote: return place.text
    case .url(let url):
      guard mayHaveSecrets(url) else { return url }
      // A whole URL ends where it ends, whatever characters its query has.
      let scalars = Substring(url).unicodeScalars
      guard let start = schemeEnd(scalars) else { return text(url) }
      return String(scalars[..<start]) + masked(scalars[start...])
    }
  }

  /// An absolute URL without query and fragment.
  package static func withoutQuery(_ url: String) -> String {
    guard mayHaveSecrets(url) || url.utf8.contains(UInt8(ascii: "#")) else { return url }
    let scalars = Substring(url).unicodeScalars
    guard let start = schemeEnd(scalars) else { return text(url) }
    return String(scalars[..<start]) + masked(scalars[start...].prefix { $0 != "?" && $0 != "#" })
  }

  /// A proxy's address without the name and password that it may carry.
  package static func proxy(_ address: String) -> String {
    let scalars = Substring(address).unicodeScalars
    guard let at = scalars.lastIndex(of: "@") else { return address }
    let scheme = mark(in: scalars)?.upperBound ?? scalars.startIndex
    return scheme <= at ? String(scalars[..<scheme]) + "***" + String(scalars[at...]) : address
  }

  /// User info ends in `@`, and queries begin with `?` or go on with `&`: nearly all texts have none of them.
  private static func mayHaveSecrets(_ text: String) -> Bool {
    text.utf8.contains { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "&") }
  }

  /// Where the text after the first `http://` or `https://` begins.
  private static func schemeEnd(_ text: Text) -> Text.Index? {
    var search = text
    while let mark = mark(in: search) {
      if isHTTP(text[..<mark.lowerBound]) { return mark.upperBound }
      search = search[mark.upperBound...]
    }
    return nil
  }

  /// Whether what stands before a `://` ends with `http` or `https`.
  private static func isHTTP(_ before: Text) -> Bool {
    let scheme = String(before.suffix(5)).lowercased()
    return scheme.hasSuffix("http") || scheme == "https"
  }

  /// User info, host and port of a URL, whose scheme is left out.
  private static func authority(_ rest: Text) -> Text { rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" } }

  /// The first `://`.
  private static func mark(in text: Text) -> Range<Text.Index>? {
    var start = text.startIndex
    while let colon = text[start...].firstIndex(of: ":") {
      start = text.index(after: colon)
      if text[start...].starts(with: "//".unicodeScalars) { return colon..<text.index(start, offsetBy: 2) }
    }
    return nil
  }

  /// `rest` is a URL behind its scheme.
  private static func masked(_ rest: Text) -> String {
    let authority = authority(rest)
    let host = authority.lastIndex(of: "@").map { "***" + String(authority[$0...]) } ?? String(authority)
    let tail = rest[authority.endIndex...]
    guard let question = tail.firstIndex(of: "?") else { return host + String(tail) }
    return host + String(tail[..<question]) + "?***"
  }

  private static func endsURL(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace || "\"`<>".unicodeScalars.contains(scalar)
  }

  /// Servers echo paths with their queries: the parameters that sign are taken out there too.
  private static func withoutSignatures(_ text: String) -> String {
    var out = ""
    var rest = Substring(text).unicodeScalars
    while let mark = rest.firstIndex(where: { $0 == "?" || $0 == "&" }) {
      let name = rest[rest.index(after: mark)...].prefix { $0 != "=" && !endsURL($0) && $0 != "&" }
      out += String(rest[...mark]) + String(name)
      rest = rest[name.endIndex...]
      guard rest.first == "=", SigningParameters.names.contains(String(name).lowercased()) else { continue }
      out += "=***"
      let value = withoutPunctuation(rest.prefix { !endsURL($0) && $0 != "&" })
      rest = rest[value.endIndex...]
    }
    return out + String(rest)
  }

  /// What a sentence puts behind a URL or a value is none of it.
  private static func withoutPunctuation(_ text: Text) -> Text {
    guard let last = text.lastIndex(where: { !":;,.)".unicodeScalars.contains($0) }) else {
      return text.prefix(0)
    }
    return text[...last]
  }
}
