/// What a run knew of a host that it could not ask freely, for the run after it: the breaker's place in its back-off, and
/// the window of requests.
package struct HostRecord: Sendable, Hashable {
  /// Times in a row that the breaker opened.
  package var openings: Int
  /// It was given up for all transfers.
  package var isGivenUp: Bool
  /// Requests at a time; nil where only the policy's limits count.
  package var window: Double?

  package init(openings: Int, isGivenUp: Bool, window: Double?) {
    self.openings = openings
    self.isGivenUp = isGivenUp
    self.window = window
  }
}
