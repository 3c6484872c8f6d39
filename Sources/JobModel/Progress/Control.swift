/// What a user asks of transfers from another terminal, or between runs.
package struct Control: Sendable, Hashable {
  package enum Verb: String, Sendable, Hashable, CaseIterable { case pause, resume, cancel, retry }
  package var verb: Verb
  /// Ids and globs of ids; empty means all.
  package var ids: [String]
  package var fromScratch: Bool

  package init(_ verb: Verb, ids: [String], fromScratch: Bool = false) {
    self.verb = verb
    self.ids = ids
    self.fromScratch = fromScratch
  }

  package var event: TransferEvent {
    switch verb {
    case .pause: .pauseByUser
    case .resume: .resumeByUser
    case .cancel: .cancel
    case .retry: .retry(fromScratch: fromScratch)
    }
  }
}
