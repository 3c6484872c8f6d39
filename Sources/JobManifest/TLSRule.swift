internal import JobModel
internal import ManifestFields

/// `tls` of a policy or of an endpoint.
enum TLSRule {
  static func read(_ parent: Fields, into policy: inout Policy) {
    guard let fields = parent.fields("tls", .tls) else { return }
    policy.tlsMinVersion = fields.value("min_version", version)
    policy.caFile = fields.text("ca_file").map(parent.scope.absolute)
    policy.clientCertificate = fields.text("client_cert").map(parent.scope.absolute)
    policy.clientKey = fields.text("client_key").map(parent.scope.absolute)
    policy.pinnedKeys = fields.list("pinned_keys", allowsOne: true, pin)
    policy.insecure = fields.bool("insecure")
    if policy.insecure == true, let mark = fields.keyMark("insecure") {
      fields.scope.faults.warning(
        "`insecure: true`: certificates and host names are not checked, so anybody on the way can read and change "
          + "what is sent", at: mark)
    }
    if fields.has("client_key"), !fields.has("client_cert") {
      fields.error("`client_key` without `client_cert`", at: "client_key", hint: "name the certificate too")
    }
  }

  /// RFC 8996 forbids the older ones, and OpenSSL no longer speaks them as it is set up.
  private static func version(_ text: String) throws(ValueFault) -> TLSVersion {
    let version: TLSVersion = try ScalarSetting.choice(text)
    guard version == .v1_2 || version == .v1_3 else {
      throw ValueFault("TLS \(text) is not supported any more (RFC 8996)", hint: "`1.2` or `1.3`")
    }
    return version
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
