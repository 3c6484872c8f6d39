import Endpoints
import HTTPClient
import JobLedger
import JobModel

/// What belongs to one upload from its beginning to its end.
struct UploadScope {
  let record: TransferRecord
  var sink: any RemoteSink
  let requester: Requester
  let live: LiveTransfer
  /// Of a copy: who moves its bytes.
  var copiedBy = CopiedBy.relay
  /// Its session is opened in place of one that was told otherwise of the object.
  var isAnew = false

  var context: TransferContext { record.context }
  var settings: TransferSettings { record.transfer.settings }
  var expect: Expectation { record.transfer.expect }
  var traits: any UploadTraits { sink.traits }

  var listed: ListedLook { ListedLook(record, requester) }

  /// ETags are read in one way for all of an endpoint.
  var endpointName: String {
    switch record.transfer.destination {
    case .remote(let name, _): name
    case .url, .local: sink.origin
    }
  }

  /// - Throws: `DIGEST_UNAVAILABLE` where `verify: required` could not be met behind what is sent in this session.
  func requireProof(in session: RemoteSession) throws(Failure) {
    guard settings.verify == .required, !traits.provesUpload(in: session) else { return }
    throw Failure(
      .digestUnavailable, "\(sink.place) neither checks nor gives a digest of what is uploaded to it")
  }

  /// Bytes went over the network, or did not after all.
  func count(_ bytes: Int) {
    record.note(.moved(Int64(bytes)))
    context.board.count(bytes)
  }

  /// Counts bytes that came and are not sent on. What is sent counts as it is sent: a byte that passes counts once.
  func countUnsent(_ count: Int64) {
    record.note(.moved(count))
    record.note(.discarded(count))
    context.board.count(Int(count))
  }
}
