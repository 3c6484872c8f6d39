import Digests
package import JobModel

/// Signs requests in their headers, as S3 has it (AWS Signature Version 4,
/// docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
///
/// S3's own rules: the path counts as it is sent, not encoded again nor normalised, and the body's digest goes in
/// `x-amz-content-sha256`.
package struct SigV4: Sendable {
  private let keys: AWSKeys
  private let region: String
  private let service: String
  private static let algorithm = "AWS4-HMAC-SHA256"
  /// What the protocol says of a body whose digest is not known.
  package static let unsignedPayload = "UNSIGNED-PAYLOAD"

  /// What proxies rewrite, and what goes from hop to hop.
  private static let unsigned: Set<String> = [
    "accept-encoding", "authorization", "connection", "content-length", "expect", "te", "transfer-encoding",
    "user-agent", "x-amzn-trace-id",
  ]

  package init(keys: AWSKeys, region: String, service: String = "s3") {
    self.keys = keys
    self.region = region
    self.service = service
  }

  /// Puts date, token, body digest and signature on a request that is otherwise complete.
  ///
  /// - Parameter time: seconds since 1970.
  /// - Throws: `INTERNAL` where the system's OpenSSL forbids SHA-256.
  package func sign(
    _ method: String, _ url: WebURL, _ headers: inout HeaderList, at time: Double
  ) throws(Failure) {
    let stamp = Self.stamp(time)
    headers.set("X-Amz-Date", stamp)
    if let token = keys.sessionToken { headers.set("X-Amz-Security-Token", token.reveal(), isSecret: true) }
    if headers["x-amz-content-sha256"] == nil { headers.set("x-amz-content-sha256", Self.unsignedPayload) }
    do throws(DigestError) {
      let (canonical, names) = Self.canonical(method, url, headers)
      let scope = "\(stamp.prefix(8))/\(region)/\(service)/aws4_request"
      let digest = try Digest.hex(of: Array(canonical.utf8), .sha256)
      let text = "\(Self.algorithm)\n\(stamp)\n\(scope)\n\(digest)"
      let signature = Hex.encode(try HMAC.sha256(Array(text.utf8), key: try key(day: stamp.prefix(8))))
      headers.set(
        "Authorization",
        "\(Self.algorithm) Credential=\(keys.accessKeyID)/\(scope), SignedHeaders=\(names), Signature=\(signature)",
        isSecret: true)
    } catch {
      throw Failure(.internal, "requests can't be signed: \(error)")
    }
  }

  /// The request in the one form that both sides hash, and the names of the headers in it.
  static func canonical(_ method: String, _ url: WebURL, _ headers: HeaderList) -> (String, names: String) {
    var values: [String: [String]] = ["host": [url.authority]]
    for field in headers.fields {
      let name = field.name.lowercased()
      guard !unsigned.contains(name), name != "host" else { continue }
      values[name, default: []].append(trimmed(field.value))
    }
    let sorted = values.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
    let names = sorted.map(\.key).joined(separator: ";")
    let lines = sorted.map { "\($0.key):\($0.value.joined(separator: ","))\n" }.joined()
    let payload = headers["x-amz-content-sha256"] ?? unsignedPayload
    return ("\(method)\n\(url.path)\n\(query(url.query))\n\(lines)\n\(names)\n\(payload)", names)
  }

  /// Sorted by name, then by value; a name without a value gets its `=`.
  private static func query(_ text: String?) -> String {
    guard let text, !text.isEmpty else { return "" }
    let pairs = text.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (name: Array(parts[0].utf8), value: parts.count > 1 ? Array(parts[1].utf8) : [])
    }
    let sorted = pairs.sorted {
      if $0.name != $1.name { return $0.name.lexicographicallyPrecedes($1.name) }
      return $0.value.lexicographicallyPrecedes($1.value)
    }
    return sorted.map {
      String(decoding: $0.name, as: UTF8.self) + "=" + String(decoding: $0.value, as: UTF8.self)
    }.joined(separator: "&")
  }

  /// Without blanks around it, and with single ones inside.
  private static func trimmed(_ value: String) -> String {
    value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
  }

  private func key(day: Substring) throws(DigestError) -> [UInt8] {
    var key = Array(("AWS4" + keys.secretAccessKey.reveal()).utf8)
    for step in [String(day), region, service, "aws4_request"] {
      key = try HMAC.sha256(Array(step.utf8), key: key)
    }
    return key
  }

  /// `20260102T030405Z`.
  private static func stamp(_ time: Double) -> String {
    Timestamp.text(time).prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
  }
}
