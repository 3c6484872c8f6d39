package import JobModel

/// A role that keys assume for a while before they sign anything else.
package struct AWSRole: Sendable, Hashable {
  package var arn: String
  package var sessionName: String
  package var externalID: String?
  /// Seconds; nil for the service's own hour.
  package var duration: Int?
  /// Where the security token service is; nil for the region's own.
  package var endpoint: String?
  /// nil for the region that the keys are to be used in.
  package var region: String?

  package init(
    arn: String, sessionName: String, externalID: String? = nil, duration: Int? = nil,
    endpoint: String? = nil, region: String? = nil
  ) {
    self.arn = arn
    self.sessionName = sessionName
    self.externalID = externalID
    self.duration = duration
    self.endpoint = endpoint
    self.region = region
  }
}

/// Temporary keys of a role (docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html).
package struct AssumeRole: Sendable {
  private let role: AWSRole
  /// What the request is signed for.
  package let region: String

  /// - Parameter region: where the keys are to be used.
  package init(_ role: AWSRole, region: String) {
    self.role = role
    self.region = role.region ?? region
  }

  /// The request, to be signed for `sts`; nil where the service's URL can't be read.
  package func request() -> Request? {
    let suffix = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
    guard var url = WebURL(role.endpoint ?? "https://sts.\(region).\(suffix)") else { return nil }
    if url.path.isEmpty { url.path = "/" }
    var fields = [
      ("Action", "AssumeRole"), ("Version", "2011-06-15"), ("RoleArn", role.arn),
      ("RoleSessionName", role.sessionName),
    ]
    if let id = role.externalID { fields.append(("ExternalId", id)) }
    if let seconds = role.duration { fields.append(("DurationSeconds", String(seconds))) }
    let form = fields.map { "\($0.0)=\(WebURL.encode($0.1, keepingSlash: false))" }.joined(separator: "&")
    let body = Array(form.utf8)
    return Request(
      "POST", url,
      headers: [
        "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
        "x-amz-content-sha256": S3Payload.digest(body),
      ], body: .bytes(body))
  }

  package func read(_ response: Response, now: Double) -> Result<AWSKeys, Failure> {
    let root = XMLTree.read(response.body)
    guard response.status == 200 else {
      let error = root?.all("Error").first
      let code = error?["Code"] ?? "HTTP \(response.status)"
      var failure = HTTPFailure.of(response, doing: "assume the role", now: now)
      if [400, 401, 403].contains(response.status) { failure.code = .unauthorized }
      if code.contains("Throttling") { failure.code = .rateLimited }
      failure.message =
        "the role `\(role.arn)` can't be assumed: \(code)\(error?["Message"].map { ": \($0.truncated(to: 300))" } ?? "") from \(response.url)"
      return .failure(failure)
    }
    guard let found = root?.all("AssumeRoleResult").first?.all("Credentials").first,
      let id = found["AccessKeyId"], let secret = found["SecretAccessKey"], let token = found["SessionToken"],
      let expiry = found["Expiration"].flatMap(Timestamp.seconds), !id.isEmpty, !secret.isEmpty
    else {
      return .failure(
        Failure(
          .protocolViolation, "\(response.url) did not answer with a role's keys", httpStatus: response.status
        ))
    }
    return .success(
      AWSKeys(
        accessKeyID: id, secretAccessKey: Secret(secret), sessionToken: Secret(token), expiresAt: expiry))
  }
}
