import Endpoints
import HTTPClient
import JobModel

/// Where a copy's bytes come from, and what asks for them.
struct CopyOrigin {
  let source: any RemoteSource
  let requester: Requester
  /// The same for what feeds a request to the sink, which was admitted (`WireRequest.isPaired`).
  let half: (source: any RemoteSource, requester: Requester)
  /// Has the service copy by itself; nil where bytes have to pass through haul.
  var service: (any RemoteSink)?

  var paired: CopyOrigin { CopyOrigin(source: half.source, requester: half.requester, half: half) }

  func endedEarly(_ end: Int64) -> Failure {
    Failure(.networkUnreachable, "\(source.place): the answer ended at byte \(end)")
  }
}
