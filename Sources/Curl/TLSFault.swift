import CCurl

/// What kept a TLS connection from being made, or trusted.
package enum TLSFault: Sendable, Hashable {
  /// Signed by nobody who is trusted here.
  case untrusted
  case expired
  case notYetValid
  case revoked
  /// The certificate is another host's.
  case wrongHost
  /// No protocol version that both sides take.
  case version
  /// What answers does not speak TLS.
  case plain
  /// The server wants a client certificate, or another one.
  case clientCertificate
  /// The server broke the handshake off without saying why.
  case brokenOff
  /// A certificate or key file of ours can't be used.
  case ownFile
  /// The file of trusted CAs can't be used.
  case caFile
  case other

  /// - Parameters:
  ///   - verification: OpenSSL's verdict on the server's certificate (x509_vfy.h, `X509_V_ERR_…`).
  ///   - text: libcurl's words, which have OpenSSL's name of the alert (RFC 8446, 6.2).
  init?(_ code: CURLcode, verification: Int, text: String) {
    switch code {
    case CURLE_PEER_FAILED_VERIFICATION:
      switch verification {
      case 9: self = .notYetValid
      case 10: self = .expired
      case 23: self = .revoked
      // libcurl compares the names itself, before it has OpenSSL's verdict (1 stands for none).
      case 0, 1, 62: self = .wrongHost
      default: self = .untrusted
      }
    case CURLE_SSL_CACERT_BADFILE: self = .caFile
    case CURLE_SSL_CERTPROBLEM: self = .ownFile
    case CURLE_SSL_CONNECT_ERROR: self = Self.alert(text) ?? .other
    // A server of TLS 1.3 refuses the client's certificate when the handshake is over for the client.
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR:
      guard let alert = Self.alert(text), alert == .clientCertificate else { return nil }
      self = alert
    case CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
      CURLE_USE_SSL_FAILED, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
      self = .other
    default: return nil
    }
  }

  private static func alert(_ text: String) -> TLSFault? {
    let words: [(String, TLSFault)] = [
      ("unsupported protocol", .version), ("alert protocol version", .version),
      ("no protocols available", .version),
      ("wrong version number", .plain), ("certificate required", .clientCertificate),
      ("alert bad certificate", .clientCertificate), ("alert unknown ca", .clientCertificate),
      ("alert certificate unknown", .clientCertificate), ("alert certificate expired", .clientCertificate),
      ("alert certificate revoked", .clientCertificate),
      ("alert unsupported certificate", .clientCertificate),
      ("alert handshake failure", .brokenOff),
    ]
    return words.first { text.contains($0.0) }?.1
  }
}
