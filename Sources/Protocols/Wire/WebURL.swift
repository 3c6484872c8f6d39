/// An absolute http(s) URL in its parts, as text: nothing is decoded or normalised, so that what a user wrote is
/// what is sent. It prints without its query and user info, which may be secrets.
package struct WebURL: Sendable, Hashable, CustomStringConvertible {
  package var scheme: String
  /// Without user info or port; an IPv6 address keeps its brackets.
  package var host: String
  package var port: Int
  /// Begins with `/`; percent-encoded.
  package var path: String
  /// Without the `?`; nil where there is none.
  package var query: String?

  /// Reads an absolute URL (RFC 3986); nil for another scheme, user info, an empty host or a bad port.
  package init?(_ text: String) {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let scheme = text[..<colon].lowercased()
    guard scheme == "http" || scheme == "https" else { return nil }
    var rest = text[text.index(after: colon)...]
    guard rest.hasPrefix("//") else { return nil }
    rest = rest.dropFirst(2)
    let fragment = rest.firstIndex(of: "#") ?? rest.endIndex
    rest = rest[..<fragment]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let authority = rest[..<end]
    guard !authority.contains("@"), !authority.contains("\\") else { return nil }
    var host = authority
    var port = scheme == "https" ? 443 : 80
    if let mark = authority.lastIndex(of: ":"), !authority[mark...].contains("]") {
      host = authority[..<mark]
      let digits = authority[authority.index(after: mark)...]
      if !digits.isEmpty {
        guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(digits),
          (1...65_535).contains(number)
        else { return nil }
        port = number
      }
    }
    guard !host.isEmpty, !host.contains(where: { $0.isWhitespace }) else { return nil }
    // A colon or a bracket is part of an address in brackets, and of nothing else (RFC 3986, 3.2.2).
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    guard isBracketed || !host.contains(where: { ":[]".contains($0) }) else { return nil }
    let tail = rest[end...]
    let question = tail.firstIndex(of: "?") ?? tail.endIndex
    self.scheme = scheme
    self.host = host.lowercased()
    self.port = port
    path = tail[..<question].isEmpty ? "/" : String(tail[..<question])
    query = question < tail.endIndex ? String(tail[tail.index(after: question)...]) : nil
  }

  /// Everything before the path: what credentials belong to (RFC 6454).
  package var origin: String { "\(scheme)://\(authority)" }

  /// Host, and port where it is not the scheme's own: what goes in `Host` (RFC 9110, 7.2).
  package var authority: String { port == (scheme == "https" ? 443 : 80) ? host : "\(host):\(port)" }

  /// The URL as it is sent: not for logs.
  package var text: String { origin + path + (query.map { "?" + $0 } ?? "") }

  /// The URL without its query.
  package var description: String { origin + path + (query == nil ? "" : "?***") }

  /// A URL with `suffix`, which is already encoded, below this one's path; this one's query is dropped.
  package func appending(_ suffix: String) -> WebURL {
    var url = self
    let base = path.hasSuffix("/") ? String(path.dropLast()) : path
    url.path = base + (suffix.hasPrefix("/") ? suffix : "/" + suffix)
    url.query = nil
    return url
  }

  /// Resolves a Location or the like against this URL (RFC 3986, 5.2); nil where it is not http(s).
  package func resolving(_ reference: String) -> WebURL? {
    if reference.hasPrefix("//") { return WebURL(scheme + ":" + reference) }
    if let colon = reference.firstIndex(of: ":"),
      reference[..<colon].allSatisfy({ $0.isLetter || $0.isNumber || "+-.".contains($0) }),
      !reference.hasPrefix("/")
    {
      return WebURL(reference)
    }
    var url = self
    let bare = reference.prefix { $0 != "#" }
    let pieces = bare.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let target = String(pieces.first ?? "")
    let newQuery = pieces.count > 1 ? String(pieces[1]) : nil
    if target.isEmpty {
      if let newQuery { url.query = newQuery }
      return url
    }
    url.query = newQuery
    let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
    url.path = Self.removingDots(target.hasPrefix("/") ? target : folder + target)
    return url
  }

  private static func removingDots(_ path: String) -> String {
    var kept: [Substring] = []
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".": if isLast { kept.append("") }
      case "..":
        _ = kept.popLast()
        if isLast { kept.append("") }
      default: kept.append(segment)
      }
    }
    return "/" + kept.joined(separator: "/")
  }

  /// Percent-encodes literal text for a path: all but unreserved characters and, where told, `/` (RFC 3986, 2.3).
  package static func encode(_ literal: String, keepingSlash: Bool = true) -> String {
    let hex = Array("0123456789ABCDEF".utf8)
    var out: [UInt8] = []
    for byte in literal.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        out.append(byte)
      case UInt8(ascii: "/") where keepingSlash: out.append(byte)
      default: out += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Undoes percent-encoding; bytes that are no UTF-8 are repaired.
  package static func decode(_ text: some StringProtocol) -> String {
    func value(_ byte: UInt8) -> UInt8? {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
      default: nil
      }
    }
    let bytes = Array(text.utf8)
    var out: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = value(bytes[index + 1]),
        let low = value(bytes[index + 2])
      {
        out.append(high << 4 | low)
        index += 3
      } else {
        out.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: out, as: UTF8.self)
  }
}
