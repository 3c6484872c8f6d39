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
    let lines = lines(of: bytes)
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

  /// Whether it is known to be an RSA key: PKCS #8 tells it only where it is not encrypted.
  package static func isRSA(_ bytes: [UInt8]) -> Bool {
    let lines = lines(of: bytes)
    if lines.contains("-----BEGIN RSA PRIVATE KEY-----") { return true }
    if var rest = openSSHBody(lines) {
      // Cipher, key derivation and its options, the number of keys, the first one's public half.
      guard rest.text() != nil, rest.text() != nil, rest.string() != nil, rest.uint32() != nil,
        var key = rest.string().map({ SSHBytes($0) })
      else { return false }
      return key.text() == "ssh-rsa"
    }
    // rsaEncryption (RFC 8017, A.1), within the first members of PrivateKeyInfo (RFC 5208, 5).
    let head = (body(lines) ?? []).prefix(32)
    let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    return head.indices.contains { head[$0...].starts(with: rsa) }
  }

  private static func lines(of bytes: [UInt8]) -> [String] {
    String(decoding: bytes.prefix(64 << 10), as: UTF8.self).split(whereSeparator: \.isNewline)
      .map { $0.trimmed(\.isWhitespace) }
  }

  private static func body(_ lines: [String]) -> [UInt8]? {
    Base64.decode(
      lines.drop { !$0.hasPrefix("-----BEGIN ") }.dropFirst().prefix { !$0.hasPrefix("-----END") }.joined())
  }

  /// OpenSSH's own form (PROTOCOL.key) behind its magic; nil for others.
  private static func openSSHBody(_ lines: [String]) -> SSHBytes? {
    let magic = Array("openssh-key-v1".utf8) + [0]
    guard let bytes = body(lines), bytes.starts(with: magic) else { return nil }
    return SSHBytes(bytes[magic.count...])
  }

  private static func openSSH(_ lines: [String]) -> Form {
    guard var rest = openSSHBody(lines), let cipher = rest.text() else { return .unknown }
    return cipher == "none" ? .plain : .encrypted
  }
}
