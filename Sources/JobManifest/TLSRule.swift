internal import JobModel
internal import ManifestFields

/// `tls` of a policy or of an endpoint.
enum TLSRule {
  static let key = KeyTable<Policy>.Key.own("tls", parts: keys.names, schema: KeySchema.shared("tls"), read)

  @Sendable static func read(_ parent: Fields, into policy: inout Policy) {
    guard let fields = parent.fields("tls", KeyShape(name: "`tls`", keys: keys.names)) else { return }
    keys.read(fields, into: &policy)
    if policy.insecure == true, let mark = fields.keyMark("insecure") {
      fields.scope.faults.warning(
        "`insecure: true`: certificates and host names are not checked, so anybody on the way can read and change "
          + "what is sent", at: mark)
    }
    if fields.has("client_key"), !fields.has("client_cert") {
      fields.error("`client_key` without `client_cert`", at: "client_key", hint: "name the certificate too")
    }
  }

  static let keys: KeyTable<Policy> = [
    .parsed("min_version", \.tlsMinVersion, schema: KeySchema.choice(["1.2", "1.3"])) {
      text throws(ValueFault) in try version(text)
    },
    .file("ca_file", \.caFile), .file("client_cert", \.clientCertificate), .file("client_key", \.clientKey),
    .list(
      "pinned_keys", \.pinnedKeys, allowsOne: true,
      of: KeySchema.matching("^sha256//[A-Za-z0-9+/]{43}=$")
    ) { text throws(ValueFault) in try pin(text) },
    .flag("insecure", \.insecure),
  ]

  /// RFC 8996 forbids the older ones, and OpenSSL no longer speaks them as it is set up.
  private static func version(_ text: String) throws(ValueFault) -> TLSVersion {
    switch TLSVersion(rawValue: text) {
    case .v1_2: return .v1_2
    case .v1_3: return .v1_3
    case .v1_0, .v1_1:
      throw ValueFault("TLS \(text) is not supported any more (RFC 8996)", hint: "`1.2` or `1.3`")
    case nil: throw ValueFault("`\(text)` is not a version of TLS", hint: "`1.2` or `1.3`")
    }
  }

  /// curl's form: `sha256//` and the base64 of the public key's digest.
  private static func pin(_ text: String) throws(ValueFault) -> String {
    let body = text.dropFirst(8)
    let isBase64 = body.dropLast().allSatisfy {
      $0.isASCII && ($0.isLetter || $0.isNumber || "+/".contains($0))
    }
    guard text.hasPrefix("sha256//"), body.utf8.count == 44, body.hasSuffix("="), isBase64 else {
      throw ValueFault("`\(text)` is not a pinned key", hint: "`sha256//` and 44 characters of base64")
    }
    return text
  }
}
