package import JobModel

/// Whether a request may be sent now.
package enum AdmissionDecision: Sendable {
  case go(RequestPermit)
  /// Until the limiter changes, or until then: `decide` is asked again.
  case wait(until: Double?)
  /// The same, and of any request that asks alike.
  case full(until: Double?)
  case refuse(Failure)
}

/// What a host's state says of one more request.
package enum HostDecision: Sendable, Hashable {
  case go
  /// Until one of its requests ends.
  case waitForRequest
  /// Until the host is available again, where that is known.
  case waitForHost(until: Double?)
  case refuse(Failure)
}

/// Whether a queued transfer may begin now.
package enum TransferOutlook: Sendable, Hashable {
  case free
  /// Its policy's `transfers` are all in flight.
  case full
  /// Its host is cooling down, or is asked by another request whether it is there.
  case shut
  /// Its host has just been asked for the first time: it will answer in a moment, or count as shut.
  case awaited
}
