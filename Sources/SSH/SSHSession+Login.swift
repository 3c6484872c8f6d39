import CSSH2
import Glibc
import Posix

extension SSHSession {
  /// Identities of an agent that are tried: servers end a connection after six refusals.
  private static let mostIdentities = 4
  /// libssh2 before 1.11 knows no signature of RSA keys but `ssh-rsa`, by SHA-1.
  private static let signsBySHA1 = libssh2_version(0x010B00) == nil

  /// Logs in by the ways that are given, in their order.
  func login(_ login: SSHLogin, timeout: Double) throws {
    let offered = try methods(login.user, timeout)
    guard libssh2_userauth_authenticated(handle) == 0 else { return }
    var (tried, byRSA): ([String], Bool) = ([], false)
    // Why the agent offered nothing.
    var unusable: String?
    if let path = login.agentSocket {
      let agent = SSHAgent(handle, path)
      unusable = agent?.fault ?? (agent == nil ? "nothing answers as one" : nil)
      if let agent, unusable == nil {
        tried.append("agent")
        if try byAgent(agent, login.user, timeout, &byRSA) { return }
      }
    }
    if let key = login.key {
      tried.append("key_file")
      byRSA = byRSA || login.isRSA
      if try byKey(key, login.passphrase, login.user, timeout) { return }
    }
    if let password = login.password {
      tried.append("password")
      if try byPassword(password, login.user, offered, timeout) { return }
    }
    if let unusable, tried.isEmpty { throw SSHFault.agentUnusable(unusable) }
    throw SSHFault.loginRefused(tried: tried, offered: offered, byRSA: byRSA && Self.signsBySHA1)
  }

  /// The ways that the server names (RFC 4252, 5.1); none where it lets everybody in.
  private func methods(_ user: String, _ timeout: Double) throws -> [String] {
    let deadline = SystemClock.uptime + timeout
    while true {
      if let list = libssh2_userauth_list(handle, user, UInt32(user.utf8.count)) {
        return String(cString: list).split(separator: ",").map(String.init)
      }
      if libssh2_userauth_authenticated(handle) != 0 { return [] }
      guard libssh2_session_last_errno(handle) == LIBSSH2_ERROR_EAGAIN else {
        throw SSHFault.broken(message)
      }
      try wait(.login, until: deadline, timeout)
    }
  }

  private func byKey(_ key: [UInt8], _ passphrase: String?, _ user: String, _ timeout: Double) throws -> Bool
  {
    let deadline = SystemClock.uptime + timeout
    let code = try key.withUnsafeBytes { bytes in
      let text = bytes.assumingMemoryBound(to: CChar.self)
      return try drive(.login, until: deadline, timeout) {
        libssh2_userauth_publickey_frommemory(
          handle, user, user.utf8.count, nil, 0, text.baseAddress, text.count, passphrase ?? "")
      }
    }
    switch code {
    case 0: return true
    case LIBSSH2_ERROR_AUTHENTICATION_FAILED, LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED,
      LIBSSH2_ERROR_SOCKET_DISCONNECT,
      LIBSSH2_ERROR_SOCKET_RECV, LIBSSH2_ERROR_SOCKET_SEND:
      return try accepted(code)
    default: throw SSHFault.keyUnusable(message)
    }
  }

  private func byPassword(
    _ password: String, _ user: String, _ offered: [String], _ timeout: Double
  ) throws -> Bool {
    let deadline = SystemClock.uptime + timeout
    let length = UInt32(user.utf8.count)
    if offered.contains("password") || !offered.contains("keyboard-interactive") {
      let code = try drive(.login, until: deadline, timeout) {
        libssh2_userauth_password_ex(
          handle, user, length, password, UInt32(password.utf8.count), nil)
      }
      if try accepted(code) { return true }
    }
    guard offered.contains("keyboard-interactive") else { return false }
    return try accepted(
      try drive(.login, until: deadline, timeout) { haul_ssh_interactive(handle, user, length, password) })
  }

  private func accepted(_ code: Int32) throws -> Bool {
    switch code {
    case 0: return true
    case LIBSSH2_ERROR_SOCKET_DISCONNECT, LIBSSH2_ERROR_SOCKET_RECV, LIBSSH2_ERROR_SOCKET_SEND:
      throw SSHFault.broken(message)
    // What libssh2 says as well where no answer came.
    case LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED where isClosed: throw SSHFault.broken(message)
    default: return false
    }
  }

  private func byAgent(
    _ agent: SSHAgent, _ user: String, _ timeout: Double, _ byRSA: inout Bool
  ) throws -> Bool {
    let deadline = SystemClock.uptime + timeout
    for identity in agent.identities.prefix(Self.mostIdentities) {
      let key = UnsafeRawBufferPointer(start: identity.pointee.blob, count: identity.pointee.blob_len)
      byRSA = byRSA || key.dropFirst(4).starts(with: "ssh-rsa".utf8)
      let code = try drive(.login, until: deadline, timeout) {
        libssh2_agent_userauth(agent.handle, user, identity)
      }
      if try accepted(code) { return true }
    }
    return false
  }
}

/// The user's ssh-agent, connected. Owns libssh2's handle.
private final class SSHAgent {
  let handle: OpaquePointer
  /// Public keys that it has; they end with the agent.
  private(set) var identities: [UnsafeMutablePointer<libssh2_agent_publickey>] = []
  /// Why it has none; nil where it has some.
  private(set) var fault: String?

  /// Nil where there is none at the socket.
  init?(_ session: OpaquePointer, _ path: String) {
    guard let handle = libssh2_agent_init(session) else { return nil }
    libssh2_agent_set_identity_path(handle, path)
    guard libssh2_agent_connect(handle) == 0 else {
      libssh2_agent_free(handle)
      return nil
    }
    self.handle = handle
    guard libssh2_agent_list_identities(handle) == 0 else {
      fault = "it tells no keys"
      return
    }
    var next: UnsafeMutablePointer<libssh2_agent_publickey>?
    while libssh2_agent_get_identity(handle, &next, identities.last) == 0, let one = next {
      identities.append(one)
    }
    if identities.isEmpty { fault = "it has no keys: add one with `ssh-add`" }
  }

  deinit {
    libssh2_agent_disconnect(handle)
    libssh2_agent_free(handle)
  }
}
