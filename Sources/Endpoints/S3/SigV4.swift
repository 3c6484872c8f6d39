import Digests
package import JobModel
import Locks

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

  /// What a day's key is made of.
  private struct KeyScope: Hashable {
    let secret: Secret
    let day: String
    let region: String
    let service: String
  }

  /// The keys of the days and stores at hand: each takes four HMACs, and every request needs one.
  private static let derived = Locked<[KeyScope: [UInt8]]>([:])
  private static let mostDerived = 16

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
    var signed = [(name: "host", value: url.authority)]
    for field in headers.fields {
      let name = field.name.lowercased()
      guard !unsigned.contains(name), name != "host" else { continue }
      signed.append((name, trimmed(field.value)))
    }
    let order = signed.indices.sorted { one, other in
      let (mine, its) = (signed[one].name.utf8, signed[other].name.utf8)
      // Values of one name stay in order.
      return mine.elementsEqual(its) ? one < other : mine.lexicographicallyPrecedes(its)
    }
    var (text, names) = ("\(method)\n\(url.path)\n\(query(url.query))\n", "")
    text.reserveCapacity(1024)
    var last = ""
    for index in order {
      let (name, value) = signed[index]
      if name == last {
        text += ","
      } else {
        if !last.isEmpty {
          text += "\n"
          names += ";"
        }
        text += name
        text += ":"
        names += name
      }
      text += value
      last = name
    }
    text += "\n\n\(names)\n\(headers["x-amz-content-sha256"] ?? unsignedPayload)"
    return (text, names)
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
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    guard value.utf8.contains(where: isBlank) else { return value }
    return value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
  }

  private func key(day: Substring) throws(DigestError) -> [UInt8] {
    let scope = KeyScope(secret: keys.secretAccessKey, day: String(day), region: region, service: service)
    if let known = Self.derived.withLock({ $0[scope] }) { return known }
    var key = Array(("AWS4" + keys.secretAccessKey.reveal()).utf8)
    for step in [scope.day, region, service, "aws4_request"] {
      key = try HMAC.sha256(Array(step.utf8), key: key)
    }
    let made = key
    Self.derived.withLock { derived in
      if derived.count >= Self.mostDerived { derived.removeAll() }
      derived[scope] = made
    }
    return key
  }

  /// `20260102T030405Z`.
  private static func stamp(_ time: Double) -> String {
    Timestamp.text(time).prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
  }
}
