import Endpoints
import HTTPClient
import JobModel

/// Where a copy's bytes come from, and what asks for them.
struct CopyOrigin {
  let source: any RemoteSource
  let requester: Requester
  /// Has the service copy by itself; nil where bytes have to pass through haul.
  var service: (any RemoteSink)?

  func endedEarly(_ end: Int64) -> Failure {
    Failure(.networkUnreachable, "\(source.place): the answer ended at byte \(end)")
  }
}
