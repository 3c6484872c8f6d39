package import Admission
package import Endpoints
package import JobModel

/// What all requests of a job share.
package struct ClientContext: Sendable {
  package let transport: any Transport
  package let clock: EngineClock
  /// Where requests wait until their host, their policy and their transfer let them go.
  package let admission: AdmissionQueue
  /// What must not be told or recorded.
  package let mask: SecretMask
  let secrets: SecretSource
  let authenticator: Authenticator
  let looks = SharedLooks()
  let folders = MadeFolders()
  let refusedClasses = RefusedClasses()
  /// What speaks SFTP.
  let sftp: any SFTPService
  /// Where bodies that do not pass through the transport wait for rate limits.
  let paces: PaceQueue
  package let remark: @Sendable (Diagnostic) -> Void
  /// Records that a server asked for a cool-down, until a time in seconds since 1970, and when it asked.
  let noteCooldown: @Sendable (_ origin: String, _ until: Double, _ askedAt: Double) -> Void

  /// - Parameters:
  ///   - admission: nil makes a queue of its own.
  ///   - remark: told of what the user is to know.
  package init(
    transport: any Transport, clock: EngineClock, admission: AdmissionQueue? = nil, secrets: SecretSource,
    mask: SecretMask, tokens: TokenKeeping = .none, sftp: any SFTPService,
    remark: @escaping @Sendable (Diagnostic) -> Void = { _ in },
    noteCooldown: @escaping @Sendable (_ origin: String, _ until: Double, _ askedAt: Double) -> Void = {
      _, _, _ in
    }
  ) {
    self.transport = transport
    self.clock = clock
    self.admission =
      admission
      ?? AdmissionQueue(
        executor: transport.executor, sleep: { try await transport.sleep(seconds: $0) }, now: clock.now,
        random: clock.random)
    self.mask = mask
    self.sftp = sftp
    paces = PaceQueue { try await transport.sleep(seconds: $0) }
    self.secrets = secrets.teaching(mask)
    authenticator = Authenticator(
      transport: transport, clock: clock, secrets: self.secrets, mask: mask,
      oauth: OAuthTokens(
        transport: transport, clock: clock, secrets: self.secrets, mask: mask, kept: tokens, remark: remark))
    self.remark = remark
    self.noteCooldown = noteCooldown
  }
}
