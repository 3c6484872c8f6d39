/// What an absolute URL of a manifest must be.
package enum URLRule {
  /// The schemes that a key takes.
  package enum Schemes: Sendable {
    case web, sftp

    /// Bytes of the scheme and `://`, in any case, at the start of a text.
    package func length(_ text: String) -> Int? {
      switch self {
      case .web: URLRule.schemeLength(text)
      case .sftp: URLRule.begins(text, "sftp://") ? 7 : nil
      }
    }

    fileprivate var names: String {
      switch self {
      case .web: "http or https"
      case .sftp: "sftp"
      }
    }

    package var example: String {
      switch self {
      case .web: "https://files.example.net/api"
      case .sftp: "sftp://files.example.net/srv/data"
      }
    }

    fileprivate var login: String {
      switch self {
      case .web: "basic: { user: NAME, password: { env: NAME } }"
      case .sftp: "ssh: { user: NAME, key_file: PATH }"
      }
    }
  }

  package static func absolute(_ text: String) throws(ValueFault) -> String { try absolute(text, .web) }

  private static func absolute(_ text: String, _ schemes: Schemes) throws(ValueFault) -> String {
    guard let scheme = schemes.length(text) else {
      throw ValueFault("`\(text)` is not an absolute \(schemes.names) URL", hint: "like `\(schemes.example)`")
    }
    guard text.allBytes({ $0 > 0x20 && $0 != 0x7F && $0 != 0x5C }) else {
      throw ValueFault("the URL holds a space, a backslash or a control character", hint: "percent-encode it")
    }
    let authority = Substring(text.utf8.dropFirst(scheme).prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 })
    guard !authority.utf8.contains(0x40) else {
      throw ValueFault(
        "the URL holds a user or a password, and a secret is never written in the manifest",
        hint: "use `auth: { \(schemes.login) }`")
    }
    try checkHost(authority)
    return text
  }

  /// An endpoint's: paths are appended to it.
  package static func base(_ text: String, _ schemes: Schemes = .web) throws(ValueFault) -> String {
    var url = try absolute(text, schemes)
    guard !url.contains("?"), !url.contains("#") else {
      throw ValueFault(
        "an endpoint's URL has no query and no fragment: paths are appended to it",
        hint: "write a signed URL whole, as a transfer's source; a key goes into `auth` or `headers`")
    }
    while url.hasSuffix("/") { url.removeLast() }
    return url
  }

  /// Bytes of `http://` or `https://` in any case, at the start of a text.
  package static func schemeLength(_ text: String) -> Int? {
    begins(text, "https://") ? 8 : begins(text, "http://") ? 7 : nil
  }

  /// An http(s) URL without its query, which may be a signature, and its fragment; any other text as it is.
  package static func withoutQuery(_ text: String) -> String {
    guard schemeLength(text) != nil else { return text }
    return String(Substring(text.utf8.prefix { $0 != 0x3F && $0 != 0x23 }))
  }

  fileprivate static func begins(_ text: String, _ scheme: StaticString) -> Bool {
    guard text.utf8.count >= scheme.utf8CodeUnitCount else { return false }
    return scheme.withUTF8Buffer { scheme in
      zip(text.utf8, scheme).allSatisfy { $0 == $1 || ($0 | 0x20) == $1 }
    }
  }

  private static func checkHost(_ authority: Substring) throws(ValueFault) {
    // By bytes: a plan of a million rows asks a million times.
    let bytes = authority.utf8
    let isSimple = bytes.allSatisfy { PercentEncoding.isAlphanumeric($0) || $0 == 0x2E || $0 == 0x2D }
    if isSimple, !bytes.isEmpty { return }
    var host = bytes
    var port: Substring?
    if bytes.first == UInt8(ascii: "[") {
      guard let close = bytes.firstIndex(of: UInt8(ascii: "]")) else {
        throw ValueFault("the URL's `[` is not closed")
      }
      host = bytes[...close]
      let rest = bytes[bytes.index(after: close)...]
      if rest.first == UInt8(ascii: ":") {
        port = Substring(rest.dropFirst())
      } else if !rest.isEmpty {
        throw ValueFault("the URL's host is malformed")
      }
    } else if let colon = bytes.lastIndex(of: UInt8(ascii: ":")) {
      host = bytes[..<colon]
      port = Substring(bytes[bytes.index(after: colon)...])
    }
    guard !host.isEmpty, !host.dropFirst().contains(UInt8(ascii: "[")) else {
      throw ValueFault("the URL has no host", hint: "like `https://files.example.net/api`")
    }
    if let port {
      guard let number = Units.integer(String(port)), (1...65535).contains(number) else {
        throw ValueFault("the URL's port `\(port)` is not 1 to 65535")
      }
    }
  }
}
