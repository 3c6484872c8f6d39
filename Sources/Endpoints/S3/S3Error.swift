import JobModel

/// What S3's refusals mean (docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html). The code in the body counts
/// before the status; an answer to HEAD has no body, and its headers have to do.
enum S3Error {
  private enum Sense {
    case code(ErrorCode)
    /// The credential has to be renewed, or this machine's clock told.
    case credential
    case region
  }

  private static let senses: [String: Sense] = [
    "SlowDown": .code(.rateLimited), "ServiceUnavailable": .code(.rateLimited),
    "Throttling": .code(.rateLimited), "ThrottlingException": .code(.rateLimited),
    "RequestThrottled": .code(.rateLimited), "TooManyRequestsException": .code(.rateLimited),
    "RequestLimitExceeded": .code(.rateLimited), "BandwidthLimitExceeded": .code(.rateLimited),
    "InternalError": .code(.serverError), "OperationAborted": .code(.serverError),
    // Of a part's or an object's PUT: just again. Of a completion: never again.
    "ConditionalRequestConflict": .code(.chunkConflict),
    "RequestTimeout": .code(.timeout), "RequestTimeoutException": .code(.timeout),
    "ExpiredToken": .credential, "ExpiredTokenException": .credential, "InvalidToken": .credential,
    "TokenRefreshRequired": .credential, "InvalidAccessKeyId": .credential,
    "InvalidTokenId": .credential, "InvalidClientTokenId": .credential,
    "SignatureDoesNotMatch": .credential, "RequestTimeTooSkewed": .credential,
    "AccessDenied": .code(.forbidden), "AllAccessDisabled": .code(.forbidden),
    "InvalidObjectState": .code(.forbidden), "AccountProblem": .code(.forbidden),
    "KMS.DisabledException": .code(.forbidden), "KMS.KMSInvalidStateException": .code(.forbidden),
    "KMS.NotFoundException": .code(.forbidden),
    "NoSuchBucket": .code(.notFound), "NoSuchKey": .code(.notFound), "NoSuchVersion": .code(.notFound),
    "NoSuchUpload": .code(.sessionExpired),
    "InvalidPart": .code(.integrityMismatch), "InvalidPartOrder": .code(.integrityMismatch),
    "BadDigest": .code(.integrityMismatch), "InvalidDigest": .code(.integrityMismatch),
    "XAmzContentSHA256Mismatch": .code(.integrityMismatch),
    "XAmzContentChecksumMismatch": .code(.integrityMismatch), "IncompleteBody": .code(.networkUnreachable),
    "PreconditionFailed": .code(.destinationExists),
    "EntityTooLarge": .code(.protocolViolation), "EntityTooSmall": .code(.protocolViolation),
    "InvalidRange": .code(.rangeInvalid),
    "PermanentRedirect": .region, "TemporaryRedirect": .region, "AuthorizationHeaderMalformed": .region,
    "IncorrectEndpoint": .region,
  ]

  private static let advice: [String: String] = [
    "InvalidObjectState": "the object is archived: restore it first",
    "KMS.DisabledException": "the key that encrypts the object is disabled: enable it",
    "EntityTooSmall": "a part is under 5 MiB: raise `chunk_size`",
    "NoSuchBucket": "check `bucket`",
    "MetadataTooLarge": "a store takes about 2 KB of metadata: preserve or give less",
    "InvalidTag": "a store takes 10 tags, of names up to 128 and values up to 256 characters",
  ]

  /// What of the endpoint's keys a server may lack, named where they are set.
  private static func lacking(_ settings: S3Settings) -> String {
    var keys: [String] = []
    if !settings.tags.isEmpty { keys.append("`tags`") }
    if settings.serverSideEncryption != nil { keys.append("`server_side_encryption`") }
    if settings.storageClass != nil { keys.append("`storage_class`") }
    if settings.acl != nil { keys.append("`acl`") }
    if settings.checksum != .none { keys.append("`checksum` (`none` asks for less)") }
    return "this server lacks what was asked"
      + (keys.isEmpty ? "" : "; what may be too much for it: " + keys.joined(separator: ", "))
  }

  /// - Parameter settings: what the endpoint says, for the advice.
  static func of(_ response: Response, doing what: String, settings: S3Settings, now: Double) -> Failure {
    let error = error(in: response)
    let code = error?["Code"]
    let region = response.headers["x-amz-bucket-region"] ?? error?["Region"]
    var failure = HTTPFailure.of(response, doing: what, now: now)
    if response.status == 503 { failure.code = .rateLimited }
    var said = [code ?? "HTTP \(response.status)"]
    if let text = error?["Message"] ?? plainText(response), !text.isEmpty {
      said.append(text.truncated(to: 300))
    }
    var hint = code == "NotImplemented" ? lacking(settings) : code.flatMap { advice[$0] }
    var sense: Sense? = code.flatMap({ senses[$0] }) ?? silent(response, region: region, settings, now)
    // A new bucket's name may lead to another region for some minutes.
    let isTemporary =
      code == "TemporaryRedirect" || response.status == 307 && response.headers["x-amz-request-id"] != nil
    if isTemporary, region == nil || region == settings.region { sense = Sense.code(.serverError) }
    switch sense {
    case .code(let known)?: failure.code = known
    case .credential?:
      failure.code = .unauthorized
      hint = skew(response, now) ?? hint
    case .region?:
      failure.code = .forbidden
      var advice = "the bucket `\(settings.bucket)` is in another region than `\(settings.region)`"
      if let region {
        advice += ": write `region: \(region)`, and that region's `url`"
      } else if let endpoint = error?["Endpoint"] {
        advice += ": it is served at `\(endpoint)`; write that region's `region` and `url`"
      }
      hint = advice
    case nil: break
    }
    failure.message =
      "\(what): \(said.joined(separator: ": ")) from \(response.url)" + (hint.map { " – \($0)" } ?? "")
    return failure
  }

  /// What a server in between says, a TLS port for instance that is spoken to without.
  private static func plainText(_ response: Response) -> String? {
    guard response.headers["Content-Type"]?.lowercased().hasPrefix("text/plain") ?? (response.status == 400),
      response.body.first != UInt8(ascii: "<"),
      let text = String(validating: response.body.prefix(4096), as: UTF8.self)
    else { return nil }
    return String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }))
  }

  /// The `<Error>` in a body, whatever the status.
  static func error(in response: Response) -> XMLTree.Element? {
    guard let root = XMLTree.read(response.body), root.name == "Error" else { return nil }
    return root
  }

  /// A refusal without a reason, as all answers to HEAD are.
  private static func silent(
    _ response: Response, region: String?, _ settings: S3Settings, _ now: Double
  ) -> Sense? {
    switch response.status {
    case 301, 307: .region
    case 400 where region.map { $0 != settings.region } ?? false: .region
    case 403 where skew(response, now) != nil: .credential
    default: nil
    }
  }

  /// What to say where this machine's clock is off by more than the 15 minutes that S3 bears.
  private static func skew(_ response: Response, _ now: Double) -> String? {
    guard let theirs = response.headers["Date"].flatMap(HTTPDate.seconds), abs(now - theirs) > 840 else {
      return nil
    }
    let minutes = Int(clamping: (abs(now - theirs) / 60).rounded())
    return
      "this machine's clock is \(minutes) minutes \(now > theirs ? "ahead of" : "behind") the server's: set it"
  }
}
