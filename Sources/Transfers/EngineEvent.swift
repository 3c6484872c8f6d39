package import Admission
package import JobModel

/// Bytes of one transfer in one run.
package struct MovedBytes: Sendable, Hashable {
  package var transferred: Int64
  package var reused: Int64
  package var discarded: Int64

  package init(transferred: Int64, reused: Int64, discarded: Int64) {
    (self.transferred, self.reused, self.discarded) = (transferred, reused, discarded)
  }
}

/// What happens while a plan runs.
package enum EngineEvent: Sendable {
  /// `bytes`: of the transfer in this run, where its work has just ended.
  case state(id: String, from: TransferState, to: TransferState, failure: Failure?, bytes: MovedBytes? = nil)
  case chunk(id: String, index: Int, bytes: Int64, attempts: Int)
  case retry(id: String, delay: Double, failure: Failure)
  case checked(id: String, Verification)
  case host(HostNews)
  case diagnostic(Diagnostic)
  /// Nothing moves under a policy (or, without a name, under one written in place), or to a server.
  case held(by: String?, Hold)
  case released(by: String?, TransferState.PauseReason)
  /// Other rates hold from now on: a policy's, or for `haul limit` the whole job's; nil is back to the policies.
  case bandwidth(policy: String?, Bandwidth?)

  /// The same, with secrets masked that somebody else has put into its words.
  package func without(_ mask: SecretMask) -> EngineEvent {
    switch self {
    case .state(let id, let from, let to, let failure?, let bytes):
      .state(id: id, from: from, to: to, failure: failure.without(mask), bytes: bytes)
    case .retry(let id, let delay, let failure): .retry(id: id, delay: delay, failure: failure.without(mask))
    case .diagnostic(let diagnostic): .diagnostic(diagnostic.without(mask))
    case .state, .chunk, .checked, .host, .held, .released, .bandwidth: self
    }
  }
}
