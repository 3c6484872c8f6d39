package import JobModel

/// A run's report as its forms read it: the head (`members`) at once, the transfers one after the other.
package protocol Report {
  /// When a run of the job ended with 0 last, seconds since 1970; nil where none has.
  func lastSuccess() throws -> Double?

  /// Whether nil of `lastSuccess` means that none has.
  var knowsLastSuccess: Bool { get }

  /// The members of `haul.report/v1` in their order, but for the transfers and what they refer to.
  func members() throws -> [JSON.Member]

  /// The same for who needs neither causes nor diagnostics: of very many failures they take long.
  func briefMembers() throws -> [JSON.Member]

  /// Gives the transfers, in the plan's order.
  ///
  /// - Returns: `policies` and `capabilities`, which the transfers refer to.
  func transfers(_ extent: TransferExtent, _ body: (JSON) throws -> Void) throws -> [JSON.Member]

  /// What proves the transfers that are done.
  func evidence() throws -> Evidence

  /// The summary for people.
  func text(isColoured: Bool) throws -> String

  /// The whole report as JSON.
  func writeJSON(to sink: @escaping ByteSink) throws
}

extension Report {
  package var knowsLastSuccess: Bool { true }

  package func briefMembers() throws -> [JSON.Member] { try members() }

  package func writeJSON(to sink: @escaping ByteSink) throws {
    let stream = JSONStream(sink)
    try stream.beginObject()
    for member in try members() { try stream.member(member.name, member.value) }
    try stream.beginArray("transfers")
    let shared = try transfers(.listed) { try stream.line($0) }
    stream.end()
    // Behind the transfers: which ones they refer to is known then.
    for member in shared { try stream.member(member.name, member.value) }
    stream.end()
    try stream.finish()
  }
}

/// Which transfers are given, and how much of each.
package enum TransferExtent: Sendable {
  /// As the JSON report lists them: of a very long plan what changed, of an ordinary transfer what is worth saying.
  case listed
  /// Every transfer of the plan with all its members, as far as they are kept.
  case every
  /// As `every`, of what the run was asked for alone: `--only`, `--only-from`, `--failed`.
  case selected

  /// All members of a transfer.
  var isWhole: Bool { self != .listed }
}
