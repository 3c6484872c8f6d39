import Endpoints
import JobLedger
import JobModel

/// One transfer's work, whichever way its bytes go.
enum TransferWork {
  case download(Download)
  case upload(Upload)

  /// - Parameter requester: makes what sends the transfer's requests.
  /// - Throws: what its place or its kind of endpoint can't be.
  init(
    _ transfer: LedgerTransfer, context: EngineContext, live: LiveTransfer, budget: BufferBudget,
    stop: StopFlag, requester: (Endpoint?, any RemoteProtocol) -> Requester
  ) throws(Failure) {
    let place = try RemotePlace(transfer.remote, endpoints: context.endpoints)
    switch transfer.settings.direction {
    case .download:
      let remote = try place.download()
      let requests = requester(place.endpoint, remote.refusals)
      self = .download(
        Download(
          transfer, source: remote.source(requests), requester: requests, context: context, live: live,
          stop: stop))
    case .upload:
      let remote = try place.upload()
      let requests = requester(place.endpoint, remote.refusals)
      self = .upload(
        Upload(
          transfer, sink: remote.sink(requests), requester: requests, context: context, live: live,
          budget: budget, stop: stop))
    }
  }

  /// - Returns: the state that the transfer ended in.
  func run(release: @Sendable () -> Void) async -> TransferState {
    switch self {
    case .download(let download):
      await download.run(release: release)
      return await download.finalState
    case .upload(let upload):
      await upload.run(release: release)
      return await upload.finalState
    }
  }
}

/// A transfer that is worked on.
struct RunningTransfer {
  let task: Task<Void, Never>
  let stop: StopFlag
  let group: PolicyGroup.Key
  let cancelPermit: () -> Void

  func end(_ event: TransferEvent) {
    stop.set(event)
    task.cancel()
    cancelPermit()
  }
}
