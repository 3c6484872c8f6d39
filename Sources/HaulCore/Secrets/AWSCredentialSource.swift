import Endpoints
import JobModel
import Posix

/// Finds AWS keys: in the environment, in profile files, or by a command that prints them.
struct AWSCredentialSource: Sendable {
  private let environment: ProcessEnvironment
  private let showsErrors: Bool

  /// - Parameter showsErrors: whether what commands write to their standard error goes to ours.
  init(_ environment: ProcessEnvironment, showsErrors: Bool = true) {
    self.environment = environment
    self.showsErrors = showsErrors
  }

  func keys(_ credentials: AWSCredentials) async throws -> AWSKeys {
    let found = try await find(credentials)
    let texts = [found.accessKeyID, found.secretAccessKey.reveal(), found.sessionToken?.reveal() ?? ""]
    guard !texts.contains(where: { $0.utf8.contains { $0 < 0x21 || $0 == 0x7F } }) else {
      throw Failure(.secretUnavailable, "an AWS key or token has a blank or a control character in it")
    }
    return found
  }

  /// - Throws: `Failure` where the environment has neither keys nor a profile's name.
  func check() throws {
    if environmentKeys == nil { _ = try profileName() }
  }

  private func profileName() throws -> String {
    guard let profile = environment["AWS_PROFILE"] else {
      throw Failure(
        .secretUnavailable,
        "the environment has neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY nor AWS_PROFILE")
    }
    return profile
  }

  private func find(_ credentials: AWSCredentials) async throws -> AWSKeys {
    switch credentials {
    case .environment:
      if let environmentKeys { return environmentKeys }
      return try await profile(try profileName())
    case .profile(let name): return try await profile(name)
    case .command(let words): return try await command(words)
    case .keys: throw Failure(.internal, "keys of the manifest are resolved one by one")
    }
  }

  private var environmentKeys: AWSKeys? {
    guard let id = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"]
    else { return nil }
    return AWSKeys(
      accessKeyID: id, secretAccessKey: Secret(secret),
      sessionToken: environment["AWS_SESSION_TOKEN"].map { Secret($0) })
  }

  private func profile(_ name: String) async throws -> AWSKeys {
    try await keys(of: AWSProfiles(environment).source(name), name)
  }

  private func keys(of source: AWSProfiles.Source, _ name: String) async throws -> AWSKeys {
    switch source {
    case .command(let words): return try await command(words)
    case .role(let section, let source):
      var found = try await keys(of: source, section["source_profile"] ?? name)
      found.role = AWSRole(
        arn: section["role_arn"] ?? "", sessionName: section["role_session_name"] ?? "haul",
        externalID: section["external_id"], duration: section["duration_seconds"].flatMap { Int($0) },
        endpoint: environment["AWS_ENDPOINT_URL_STS"] ?? environment["AWS_ENDPOINT_URL"],
        region: section["region"])
      return found
    case .keys(let section):
      guard let id = section["aws_access_key_id"], let secret = section["aws_secret_access_key"],
        !id.isEmpty, !secret.isEmpty
      else { throw Failure(.secretUnavailable, "the AWS profile `\(name)` has no aws_secret_access_key") }
      return AWSKeys(
        accessKeyID: id, secretAccessKey: Secret(secret),
        sessionToken: section["aws_session_token"].flatMap { $0.isEmpty ? nil : Secret($0) })
    }
  }

  /// `credential_process` (docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html).
  private func command(_ words: [String]) async throws -> AWSKeys {
    let text = try await Secrets.command(words, showsErrors: showsErrors).reveal()
    let name = words.first ?? ""
    func refused(_ what: String) -> Failure {
      Failure(.secretUnavailable, "the credential command `\(name)` \(what)")
    }
    guard let members = JSON(Array(text.utf8)), members.members != nil else {
      throw refused("printed no JSON object")
    }
    guard members["Version"].int64 == 1 else { throw refused("printed no `Version: 1`") }
    guard let id = members["AccessKeyId"].string, let secret = members["SecretAccessKey"].string,
      !id.isEmpty, !secret.isEmpty
    else { throw refused("printed no AccessKeyId and SecretAccessKey") }
    var keys = AWSKeys(accessKeyID: id, secretAccessKey: Secret(secret))
    if let token = members["SessionToken"].string, !token.isEmpty { keys.sessionToken = Secret(token) }
    if let expiry = members["Expiration"].string {
      guard let seconds = Timestamp.seconds(expiry) else { throw refused("printed an unreadable Expiration") }
      keys.expiresAt = seconds
      if seconds <= SystemClock.now { throw refused("printed keys that have expired already") }
    }
    return keys
  }
}
