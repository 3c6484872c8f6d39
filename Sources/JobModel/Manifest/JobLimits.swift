/// A job's `limits`: caps on all of its policies together. A nil key caps nothing, and neither does `auto`.
package struct JobLimits: Sendable, Hashable {
  package var transfers: FlightLimit?
  package var connectionsTotal: FlightLimit?
  package var connectionsPerHost: FlightLimit?
  package var downloadRate: Rate?
  package var uploadRate: Rate?
  package var budget: Budget?
  /// Where these are one part's: those of the whole job.
  package var undivided = Undivided<JobLimits>.asTheyAre

  package init() {}
}
