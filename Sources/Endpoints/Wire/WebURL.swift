package import JobModel

/// An absolute URL, http(s) but for endpoints of other schemes, in its parts, as text: nothing is decoded or normalised, so that what a user wrote is
/// what is sent. It prints without its query and user info, which may be secrets.
package struct WebURL: Sendable, Hashable, CustomStringConvertible {
  package let scheme: String
  /// Without user info or port; an IPv6 address keeps its brackets.
  package var host: String { didSet { origin = Self.origin(scheme, host, port) } }
  package let port: Int
  /// Everything before the path: what credentials belong to (RFC 6454).
  package private(set) var origin: String
  /// Begins with `/`; percent-encoded.
  package var path: String
  /// Without the `?`; nil where there is none.
  package var query: String?

  /// Reads an absolute URL (RFC 3986); nil for another scheme, user info, an empty host or a bad port.
  package init?(_ text: String) {
    var plain = text
    if let url = plain.withUTF8({ Self(plain: $0) }) { self = url } else { self.init(careful: text) }
  }

  /// What nearly all URLs are: a host of lower case, then visible ASCII without a fragment; nil for any other. A plan of a
  /// million rows is read by this.
  private init?(plain bytes: UnsafeBufferPointer<UInt8>) {
    let isSecure = Self.begins(bytes, "https://")
    guard isSecure || Self.begins(bytes, "http://") else { return nil }
    let start = isSecure ? 8 : 7
    var end = start
    while end < bytes.count, Self.isPlainHost(bytes[end]) { end += 1 }
    guard end > start else { return nil }
    let hostEnd = end
    var port = isSecure ? 443 : 80
    if end < bytes.count, bytes[end] == UInt8(ascii: ":") {
      end += 1
      let usual = port
      port = 0
      while end < bytes.count, end - hostEnd < 6, (0x30...0x39).contains(bytes[end]) {
        port = port * 10 + Int(bytes[end] - 0x30)
        end += 1
      }
      // The scheme's own, or one written with zeros before it, is left out of an origin, or written without them.
      guard (1...65_535).contains(port), port != usual, bytes[hostEnd + 1] != 0x30 else { return nil }
    }
    // An endpoint's often ends with its host.
    guard end == bytes.count || bytes[end] == UInt8(ascii: "/") else { return nil }
    var question = bytes.count
    for index in end..<bytes.count {
      let byte = bytes[index]
      guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "#") else { return nil }
      if byte == UInt8(ascii: "?"), question == bytes.count { question = index }
    }
    func text(_ range: Range<Int>) -> String {
      String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
    }
    scheme = isSecure ? "https" : "http"
    host = text(start..<hostEnd)
    self.port = port
    origin = text(0..<end)
    path = end < bytes.count ? text(end..<question) : "/"
    query = question < bytes.count ? text((question + 1)..<bytes.count) : nil
  }

  private static func begins(_ bytes: UnsafeBufferPointer<UInt8>, _ scheme: StaticString) -> Bool {
    let count = scheme.utf8CodeUnitCount
    guard bytes.count >= count else { return false }
    return (0..<count).allSatisfy { bytes[$0] == scheme.utf8Start[$0] }
  }

  private static func isPlainHost(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2E || byte == 0x2D
  }

  /// Reads an endpoint's URL, which may be `sftp://` too. What a server names is never read so.
  package init?(endpoint text: String) {
    if URLRule.Schemes.sftp.length(text) != nil {
      self.init(careful: text, .sftp)
    } else {
      self.init(text)
    }
  }

  /// Reads any URL: what `init(_:)` gives, at ten times the cost.
  package init?(careful text: String, _ schemes: URLRule.Schemes = .web) {
    // What one reader takes for the end of a host, the next takes for a part of it.
    guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
    // By bytes and scalars, as curl reads: to Swift, a `@` and a combining mark behind it are one character, and not
    // a `@`.
    guard let skipped = schemes.length(text) else { return nil }
    let scheme = schemes == .sftp ? "sftp" : skipped == 8 ? "https" : "http"
    let rest = Substring(text.utf8.dropFirst(skipped).prefix { $0 != UInt8(ascii: "#") }).unicodeScalars
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let authority = rest[..<end]
    guard !authority.contains(where: Self.endsHost) else { return nil }
    var host = authority
    var port = Self.port(of: scheme)
    if let mark = authority.lastIndex(of: ":"), !authority[mark...].contains("]") {
      host = authority[..<mark]
      let digits = authority[authority.index(after: mark)...]
      if !digits.isEmpty {
        guard digits.allSatisfy({ ("0"..."9").contains($0) }), let number = Int(String(digits)),
          (1...65_535).contains(number)
        else { return nil }
        port = number
      }
    }
    guard !host.isEmpty else { return nil }
    // A colon or a bracket is part of an address in brackets, and of nothing else (RFC 3986, 3.2.2).
    let isBracketed = host.first == "[" && host.last == "]"
    guard isBracketed || !host.contains(where: { ":[]".unicodeScalars.contains($0) }) else { return nil }
    let tail = rest[end...]
    let question = tail.firstIndex(of: "?") ?? tail.endIndex
    self.scheme = scheme
    self.host = String(host).lowercased()
    self.port = port
    origin = Self.origin(scheme, self.host, port)
    path = tail[..<question].isEmpty ? "/" : String(tail[..<question])
    query = question < tail.endIndex ? String(tail[tail.index(after: question)...]) : nil
  }

  /// What can't be part of a host: user info, a path for some readers, blanks, controls.
  private static func endsHost(_ scalar: Unicode.Scalar) -> Bool {
    // The properties of what is not ASCII alone are looked up.
    scalar == "@" || scalar == "\\" || scalar.value <= 0x20 || scalar.value == 0x7F
      || scalar.value > 0x7F && scalar.properties.isWhitespace
  }

  private static func origin(_ scheme: String, _ host: String, _ port: Int) -> String {
    "\(scheme)://\(authority(scheme, host, port))"
  }

  /// Host, and port where it is not the scheme's own: what goes in `Host` (RFC 9110, 7.2).
  package var authority: String { Self.authority(scheme, host, port) }

  private static func authority(_ scheme: String, _ host: String, _ port: Int) -> String {
    port == Self.port(of: scheme) ? host : "\(host):\(port)"
  }

  /// The one that is left out of URLs.
  private static func port(of scheme: String) -> Int {
    switch scheme {
    case "https": 443
    case "sftp": 22
    default: 80
    }
  }

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

  /// The URL with blanks and what is not ASCII in its path and query percent-encoded: some servers redirect to names as
  /// they are.
  package var encodingRaw: WebURL {
    var url = self
    url.path = Self.encodingRaw(path)
    url.query = query.map(Self.encodingRaw)
    return url
  }

  private static func encodingRaw(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) else { return text }
    return text.unicodeScalars.map { scalar in
      scalar.value <= 0x20 || scalar.value >= 0x7F ? encode(String(scalar)) : String(scalar)
    }.joined()
  }

  /// Resolves a Location or the like against this URL (RFC 3986, 5.2); nil where it is not http(s).
  package func resolving(_ reference: String) -> WebURL? {
    guard !reference.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
    if reference.utf8.starts(with: "//".utf8) { return WebURL(scheme + ":" + reference) }
    if let colon = reference.unicodeScalars.firstIndex(of: ":"),
      reference[..<colon].allSatisfy({ $0.isLetter || $0.isNumber || "+-.".contains($0) })
    {
      return WebURL(reference)
    }
    var url = self
    let bare = reference.unicodeScalars.prefix { $0 != "#" }
    let pieces = bare.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let target = pieces.first.map { String($0) } ?? ""
    let newQuery = pieces.count > 1 ? String(pieces[1]) : nil
    if target.isEmpty {
      if let newQuery { url.query = newQuery }
      return url
    }
    url.query = newQuery
    let folder = path.unicodeScalars[...(path.unicodeScalars.lastIndex(of: "/") ?? path.startIndex)]
    url.path = Self.removingDots(target.utf8.first == UInt8(ascii: "/") ? target : String(folder) + target)
    return url
  }

  private static func removingDots(_ path: String) -> String {
    var kept: [String] = []
    let segments = path.unicodeScalars.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
      .map { String($0) }
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
    String(decoding: bytes(text), as: UTF8.self)
  }

  /// Whether the percent-decoded bytes are UTF-8: `decode` repairs what is not.
  package static func decodesToText(_ text: some StringProtocol) -> Bool {
    String(validating: bytes(text), as: UTF8.self) != nil
  }

  private static func bytes(_ text: some StringProtocol) -> [UInt8] {
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
    return out
  }
}
