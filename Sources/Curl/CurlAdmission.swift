/// A rule about the addresses that a request may connect to.
package struct CurlAdmission: Sendable {
  /// What tells two rules apart: connections are shared by requests under the same one only.
  package let rule: [String]
  /// Called on the network thread with the address that is about to be connected to, before anything is sent, and
  /// again before a request goes over a kept connection. What it throws ends the request as `.aborted`.
  let judge: @Sendable (Peer) throws -> Void

  /// Where a connection leads.
  package struct Peer: Sendable, Hashable {
    /// 4 or 16, in network order.
    package let address: [UInt8]
    package let port: Int
  }

  package init(rule: [String], judge: @escaping @Sendable (Peer) throws -> Void) {
    self.rule = rule
    self.judge = judge
  }
}
