import Endpoints
import JobModel
import Posix
import SSH

/// Opens connections: finds the login, and judges the server before it is told of it.
struct SFTPDoor: Sendable {
  /// Kinds of host key that libssh2 knows, the best first.
  private static let types = [
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
  ]

  let url: WebURL
  let login: SSHAuthentication
  let trust: SFTPTrust
  let policy: EffectivePolicy
  let surroundings: SSHSurroundings
  let bodies: OpenBodies
  let secret: @Sendable (SecretReference) async throws -> Secret

  private var host: String {
    url.host.hasPrefix("[") && url.host.hasSuffix("]") ? String(url.host.dropFirst().dropLast()) : url.host
  }

  func open() async throws -> SFTPConnection {
    let who = try await credentials()
    do { return try await open(as: who) } catch let failure as Failure where failure.code == .unauthorized {
      // Its secrets may have been renewed since; the same ones are not tried twice.
      let renewed = try await credentials()
      guard renewed != who else { throw failure }
      return try await open(as: renewed)
    }
  }

  private func open(as who: SSHLogin) async throws -> SFTPConnection {
    guard trust.hostKey != nil else {
      let known = try knownHosts()
      let types = try known.types(of: host, port: url.port)
      return try await open(
        who, types: types.filter(Self.types.contains) + Self.types.filter { !types.contains($0) }
      ) {
        try judge($0, by: known)
      }
    }
    // A fingerprint does not tell the kind of its key: the server is asked for each.
    var types = Self.types
    var mismatch: (any Error)?
    while true {
      do {
        return try await open(who, types: types) { try judgeByFingerprint($0) }
      } catch let refusal as OtherKey {
        mismatch = mismatch ?? refusal.failure
        guard let others = Self.others(types, besides: refusal.type) else { throw refusal.failure }
        types = others
      } catch let failure as Failure {
        // It has no key of the other kinds.
        if failure.code == .tlsFailed, let mismatch { throw mismatch }
        throw failure
      }
    }
  }

  /// The kinds to ask for once a server has shown one; nil where there are no more, and where it shows what was not asked for.
  static func others(_ types: [String], besides shown: String) -> [String]? {
    let others = types.filter { $0 != shown }
    return others.isEmpty || others.count == types.count ? nil : others
  }

  private func open(
    _ who: SSHLogin, types: [String], _ judge: @escaping @Sendable ([UInt8]) throws -> Void
  ) async throws -> SFTPConnection {
    let rule = try AddressRule(policy)
    var target = SSHTarget(
      host: host, port: url.port, connectTimeout: policy.connectTimeout, stepTimeout: policy.requestTimeout
    ) { [url] address in
      try rule.judge(address, of: url.host, "SSH \(url.origin)")
    }
    target.hostKeyTypes = types
    target.interface = policy.interface
    target.family =
      switch policy.ip {
      case .any: .any
      case .v4: .v4
      case .v6: .v6
      }
    do {
      return try await SFTPConnection.open(target, as: who, place: url.origin, bodies, trust: judge)
    } catch let fault as SSHFault {
      throw SSHFailure.of(fault, at: url.origin)
    }
  }

  // MARK: The login

  private func credentials() async throws -> SSHLogin {
    var who = SSHLogin(user: login.user)
    if login.usesAgent {
      guard let socket = surroundings.agentSocket else {
        throw Failure(
          .secretUnavailable, "`agent: true` asks for an ssh-agent, and `SSH_AUTH_SOCK` names none: start one"
        )
      }
      who.agentSocket = socket
    }
    if let path = login.keyFile {
      let key = try KeyFile.read(path)
      let isOpen = !key.isEncrypted || login.passphrase != nil
      // Who uses an agent has it open the key.
      guard isOpen || login.usesAgent else {
        throw Failure(
          .secretUnavailable,
          "the key file `\(path)` is encrypted: write `passphrase: { env: NAME }` beside it, or use the agent"
        )
      }
      if isOpen { (who.key, who.isRSA) = (key.bytes, SSHKeyFile.isRSA(key.bytes)) }
    }
    if let reference = login.passphrase { who.passphrase = try await secret(reference).reveal() }
    if let reference = login.password { who.password = try await secret(reference).reveal() }
    return who
  }

  // MARK: The server

  private var knownHostsPath: String? {
    trust.knownHosts ?? surroundings.home.map { $0 + "/.ssh/known_hosts" }
  }

  private func knownHosts() throws -> KnownHosts {
    guard let path = knownHostsPath else { return KnownHosts("") }
    do throws(SystemError) {
      return KnownHosts(String(decoding: try Files.read(path), as: UTF8.self))
    } catch {
      // A user who knows no host has none.
      if trust.knownHosts == nil, !Files.exists(path) { return KnownHosts("") }
      throw Failure(.tlsFailed, "`known_hosts` `\(path)` can't be read: \(error); nothing was sent")
    }
  }

  private func judge(_ key: [UInt8], by known: KnownHosts) throws {
    let (seen, type) = (try SSHFingerprint.of(key), SSHFingerprint.type(key))
    let path = knownHostsPath.map { "`\($0)`" } ?? "a `known_hosts` file"
    switch try known.match(key, of: host, port: url.port) {
    case .known: return
    case .unknown:
      throw Failure(
        .tlsFailed,
        "\(url.origin) is unknown: its \(type) key is \(seen), and \(path) has none for it; nothing was sent. Compare the fingerprint with the server's owner, then add the key there, or write `host_key: \(seen)`"
      )
    case .changed(let others):
      throw Failure(
        .tlsFailed,
        "\(url.origin) shows another key than is known: its \(type) key is \(seen), \(path) has \(others.joined(separator: ", ")); nothing was sent. Somebody may be in between: ask the server's owner before you replace the known key",
        expected: others.first, actual: seen)
    case .revoked:
      throw Failure(
        .tlsFailed,
        "\(url.origin) shows the \(type) key \(seen), which \(path) marks as `@revoked`; nothing was sent",
        actual: seen)
    }
  }

  /// The server has shown a key of this kind, and it is not the one.
  private struct OtherKey: Error {
    let type: String
    let failure: Failure
  }

  private func judgeByFingerprint(_ key: [UInt8]) throws {
    let (seen, type) = (try SSHFingerprint.of(key), SSHFingerprint.type(key))
    guard let wanted = trust.hostKey, wanted != seen else { return }
    throw OtherKey(
      type: type,
      failure: Failure(
        .tlsFailed,
        "\(url.origin) shows another key than `host_key`: its \(type) key is \(seen), `host_key` is \(wanted); nothing was sent. Somebody may be in between: ask the server's owner before you write another `host_key`",
        expected: wanted, actual: seen))
  }
}

/// What haul's own surroundings give to SSH.
package struct SSHSurroundings: Sendable {
  /// The user's home folder.
  package var home: String?
  /// The agent's socket (`SSH_AUTH_SOCK`).
  package var agentSocket: String?

  package init(home: String?, agentSocket: String?) {
    (self.home, self.agentSocket) = (home, agentSocket)
  }
}
