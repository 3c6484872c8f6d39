/// Why there is no SSH connection, or no longer one.
package enum SSHFault: Error, Sendable, Hashable {
  case unresolved(String)
  case unconnected(String)
  case interfaceUnavailable(String)
  /// Nothing came within so many seconds of this step.
  case timedOut(Step, seconds: Double)
  case broken(String)
  /// What answers does not speak SSH.
  case notSSH(String)
  /// The two sides share no cipher, key exchange or kind of host key.
  case nothingInCommon(String)
  /// The ssh-agent could not be asked, or had nothing to offer: what of it, in words.
  case agentUnusable(String)
  /// - tried: the ways that were tried, as messages name them.
  /// - byRSA: an RSA key was among them, which this libssh2 signs by SHA-1 alone.
  case loginRefused(tried: [String], offered: [String], byRSA: Bool)
  /// The private key can't be used: libssh2's words.
  case keyUnusable(String)
  /// The server starts no such subsystem.
  case noSubsystem(String)
  /// The connection was given up by this side.
  case stopped

  package enum Step: String, Sendable, Hashable { case connect, login, channel }
}
