package import Digests

/// The host keys that a user knows (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
package struct KnownHosts: Sendable {
  private struct Line: Sendable {
    enum Marker: Sendable { case none, revoked, authority }
    var marker: Marker
    /// Names, patterns, or one hashed name.
    var hosts: String
    var type: String
    var key: [UInt8]
  }
  private let lines: [Line]

  /// What is known of a host's key.
  package enum Match: Sendable, Hashable {
    case known
    /// Nothing is on record for the host.
    case unknown
    /// Other keys are on record, by their fingerprints.
    case changed([String])
    /// The key is one that must not be trusted (`@revoked`).
    case revoked
  }

  /// Lines that can't be read are passed over, as ssh does.
  package init(_ text: String) {
    lines = text.split(whereSeparator: \.isNewline).compactMap { Self.line($0) }
  }

  private static func line(_ text: Substring) -> Line? {
    var words = text.split(whereSeparator: { $0 == " " || $0 == "\t" })[...]
    guard let first = words.first, !first.hasPrefix("#") else { return nil }
    var marker = Line.Marker.none
    if first.hasPrefix("@") {
      switch first {
      case "@revoked": marker = .revoked
      case "@cert-authority": marker = .authority
      default: return nil
      }
      words.removeFirst()
    }
    let parts = Array(words.prefix(3))
    guard parts.count == 3, let key = Base64.decode(String(parts[2])), !key.isEmpty else { return nil }
    return Line(marker: marker, hosts: String(parts[0]), type: String(parts[1]), key: key)
  }

  /// What is known of the key that a host shows.
  ///
  /// - Parameter key: as the server shows it (RFC 4253, 6.6).
  package func match(_ key: [UInt8], of host: String, port: Int) throws(DigestError) -> Match {
    var others: [String] = []
    var isKnown = false
    for line in lines where line.marker != .authority {
      guard try Self.matches(line.hosts, Self.name(host, port)) else { continue }
      switch line.marker {
      case .revoked: if line.key == key { return .revoked }
      case .none where line.key == key: isKnown = true
      case .none: others.append(try SSHFingerprint.of(line.key))
      case .authority: break
      }
    }
    if isKnown { return .known }
    return others.isEmpty ? .unknown : .changed(others)
  }

  /// The kinds of key on record for a host, in their order: it is asked to prove one of these.
  package func types(of host: String, port: Int) throws(DigestError) -> [String] {
    var found: [String] = []
    for line in lines where line.marker == .none && !found.contains(line.type) {
      if try Self.matches(line.hosts, Self.name(host, port)) { found.append(line.type) }
    }
    return found
  }

  /// As ssh writes it: with the port where that is not 22.
  private static func name(_ host: String, _ port: Int) -> String {
    let host = host.lowercased()
    return port == 22 ? host : "[\(host)]:\(port)"
  }

  private static func matches(_ patterns: String, _ name: String) throws(DigestError) -> Bool {
    if patterns.hasPrefix("|") { return try matches(hashed: patterns, name) }
    var isMatched = false
    for pattern in patterns.lowercased().split(separator: ",") {
      if pattern.hasPrefix("!") {
        if glob(Array(pattern.utf8.dropFirst()), Array(name.utf8)) { return false }
      } else if glob(Array(pattern.utf8), Array(name.utf8)) {
        isMatched = true
      }
    }
    return isMatched
  }

  /// `|1|SALT|HASH`: HMAC-SHA-1 of the name.
  private static func matches(hashed text: String, _ name: String) throws(DigestError) -> Bool {
    let parts = text.split(separator: "|", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[1] == "1", let salt = Base64.decode(String(parts[2])),
      let hash = Base64.decode(String(parts[3]))
    else { return false }
    return try HMAC.sha1(Array(name.utf8), key: salt) == hash
  }

  /// `*` stands for any text, `?` for one byte.
  private static func glob(_ pattern: [UInt8], _ text: [UInt8]) -> Bool {
    var (p, t, star, mark) = (0, 0, -1, 0)
    while t < text.count {
      if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
        (star, mark) = (p, t)
        p += 1
      } else if p < pattern.count, pattern[p] == UInt8(ascii: "?") || pattern[p] == text[t] {
        p += 1
        t += 1
      } else if star >= 0 {
        mark += 1
        (p, t) = (star + 1, mark)
      } else {
        return false
      }
    }
    return pattern[p...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}

/// A public key's SHA-256 as ssh-keygen prints it.
package enum SSHFingerprint {
  package static func of(_ key: [UInt8]) throws(DigestError) -> String {
    let text = Base64.encode(try Digest.bytes(of: key, .sha256))
    return "SHA256:" + text.prefix { $0 != "=" }
  }

  /// The kind of a public key, by itself.
  package static func type(_ key: [UInt8]) -> String {
    var bytes = SSHBytes(key)
    return bytes.text() ?? "unknown"
  }
}
