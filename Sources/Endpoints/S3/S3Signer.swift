import JobModel

/// AWS Signature Version 4 for the requests of one region, and its roles.
struct S3Signer: RequestSigner {
  let region: String
  let signatureLabel = "Signature="

  func sign(
    _ method: String, _ url: WebURL, _ headers: inout HeaderList, with keys: AWSKeys, at time: Double
  ) throws(Failure) {
    try SigV4(keys: keys, region: region).sign(method, url, &headers, at: time)
  }

  func request(for role: AWSRole, signedWith keys: AWSKeys, at time: Double) throws(Failure) -> Request {
    let assume = AssumeRole(role, region: region)
    guard var request = assume.request() else {
      throw Failure(.secretUnavailable, "the URL of the security token service can't be read")
    }
    try SigV4(keys: keys, region: assume.region, service: "sts").sign(
      request.method, request.url, &request.headers, at: time)
    return request
  }

  func keys(of role: AWSRole, in response: Response, now: Double) -> Result<AWSKeys, Failure> {
    AssumeRole(role, region: region).read(response, now: now)
  }
}
