/// Where a connection leads, and on which terms.
package struct SSHTarget: Sendable {
  package enum Family: Sendable { case any, v4, v6 }

  /// A name or an address, without brackets.
  package var host: String
  package var port: Int
  package var family = Family.any
  /// The network interface that the connection leaves through; nil for any.
  package var interface: String?
  /// Seconds for the connection and the key exchange.
  package var connectTimeout: Double
  /// Seconds for each later step.
  package var stepTimeout: Double
  /// Kinds of host key that the server may prove itself by, the best first; empty for all.
  package var hostKeyTypes: [String] = []
  /// Called with each address, 4 or 16 bytes in network order, before it is connected to; what it throws ends the attempt.
  package var judge: @Sendable (_ address: [UInt8]) throws -> Void

  /// Seconds for all steps together: each has its limit, but libssh2 waits for an agent, and the system for a name, without any.
  var longestOpening: Double { min(connectTimeout + 6 * stepTimeout, 1e9) }

  package init(
    host: String, port: Int, connectTimeout: Double, stepTimeout: Double,
    judge: @escaping @Sendable (_ address: [UInt8]) throws -> Void = { _ in }
  ) {
    self.host = host
    self.port = port
    self.connectTimeout = connectTimeout
    self.stepTimeout = stepTimeout
    self.judge = judge
  }
}

/// Who logs in, and by what: the agent first, then the key, then the password, as far as they are given.
package struct SSHLogin: Sendable, Hashable {
  package var user: String
  /// The agent's socket.
  package var agentSocket: String?
  /// A private key as its file has it.
  package var key: [UInt8]?
  package var isRSA = false
  package var passphrase: String?
  package var password: String?

  package init(user: String) { self.user = user }
}
