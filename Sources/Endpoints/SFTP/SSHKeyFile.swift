import JobModel

/// What can be told of a private key's file without its passphrase.
package enum SSHKeyFile {
  package enum Form: Sendable, Hashable {
    case plain
    case encrypted
    /// The public half, which proves nothing.
    case publicKey
    /// No form that haul reads.
    case unknown
  }

  package static func form(of bytes: [UInt8]) -> Form {
    let text = String(decoding: bytes.prefix(64 << 10), as: UTF8.self)
    let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmed(\.isWhitespace) }
    guard let first = lines.first(where: { !$0.isEmpty }) else { return .unknown }
    if first.hasPrefix("ssh-") || first.hasPrefix("ecdsa-") || first.hasPrefix("---- BEGIN SSH2 PUBLIC") {
      return .publicKey
    }
    guard first.hasPrefix("-----BEGIN "), first.hasSuffix("PRIVATE KEY-----") else {
      return first.hasPrefix("-----BEGIN ") && first.contains("PUBLIC KEY") ? .publicKey : .unknown
    }
    if first == "-----BEGIN OPENSSH PRIVATE KEY-----" { return openSSH(lines) }
    if first == "-----BEGIN ENCRYPTED PRIVATE KEY-----" { return .encrypted }
    return lines.prefix(3).contains { $0.hasPrefix("Proc-Type:") && $0.hasSuffix("ENCRYPTED") }
      ? .encrypted : .plain
  }

  /// OpenSSH's own form (PROTOCOL.key): a magic, then the cipher's name.
  private static func openSSH(_ lines: [String]) -> Form {
    let body = lines.drop { $0 != "-----BEGIN OPENSSH PRIVATE KEY-----" }.dropFirst()
      .prefix { !$0.hasPrefix("-----END") }.joined()
    let magic = Array("openssh-key-v1".utf8) + [0]
    guard let bytes = Base64.decode(body), bytes.starts(with: magic) else { return .unknown }
    var rest = SSHBytes(bytes[magic.count...])
    guard let cipher = rest.text() else { return .unknown }
    return cipher == "none" ? .plain : .encrypted
  }
}
