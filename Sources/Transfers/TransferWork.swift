package import Admission
import Endpoints
import HTTPClient
package import JobLedger
package import JobModel

/// One transfer's work, whichever way its bytes go.
package struct TransferWork: Sendable {
  private enum Runner {
    case download(Download)
    case upload(Upload)
  }
  private let runner: Runner

  /// - Parameters:
  ///   - throttle: of the policy's group.
  ///   - renewRows: brings URLs that were renewed in row files into the ledger; nil where there are no rows.
  /// - Throws: what its place or its kind of endpoint can't be.
  package init(
    _ transfer: LedgerTransfer, context: TransferContext, throttle: Throttle, permit: TransferPermit,
    renewRows: (@Sendable () async -> Void)?, live: LiveTransfer, stop: StopFlag
  ) throws(Failure) {
    func requester(
      _ endpoint: Endpoint?, _ remote: any RemoteProtocol,
      _ side: @escaping @Sendable (LedgerTransfer) -> Place = { $0.remote },
      _ settings: TransferSettings? = nil
    ) -> Requester {
      let signed = renewRows.flatMap { renewRows in
        SignedURL(side(transfer)) { [ledger = context.run.ledger] in
          await renewRows()
          return try ledger.transfer(transfer.seq).map(side)
        }
      }
      return Requester(
        context.client, endpoint: endpoint, remote: remote, settings: settings ?? transfer.settings,
        throttle: throttle,
        transfer: permit, signed: signed
      ) { delay, failure in
        live.countRetry()
        context.run.events(.retry(id: transfer.id, delay: delay, failure: failure))
      }
    }
    let attach = try AttachRoute.of(transfer.settings, endpoints: context.endpoints) { endpoint, settings in
      Requester(
        context.client, endpoint: endpoint, remote: AttachErrors(), settings: settings, throttle: throttle,
        transfer: permit
      ) { delay, failure in
        live.countRetry()
        context.run.events(.retry(id: transfer.id, delay: delay, failure: failure))
      }
    }
    let place = try RemotePlace(transfer.remote, endpoints: context.endpoints)
    switch transfer.settings.direction {
    case .download:
      let remote = try place.download()
      let requests = requester(place.endpoint, remote.refusals)
      requests.isListed = transfer.knownSize != nil
      runner = .download(
        Download(
          transfer, source: remote.source(requests), requester: requests, attach: attach, context: context,
          live: live, stop: stop))
    case .upload, .copy:
      let remote = try place.upload()
      let requests = requester(place.endpoint, remote.refusals)
      var origin: CopyOrigin?
      if transfer.settings.direction == .copy {
        let from = try RemotePlace(transfer.source, endpoints: context.endpoints)
        let read = try from.download()
        let asks = requester(from.endpoint, read.refusals, { $0.source }, transfer.settings.ofSource)
        let service = transfer.settings.asksBothAlike ? place.serviceCopy(of: from) : nil
        let half = asks.paired()
        origin = CopyOrigin(
          source: read.source(asks), requester: asks, half: (read.source(half), half),
          service: service?.sink(requests))
      }
      runner = .upload(
        Upload(
          transfer, sink: remote.sink(requests), requester: requests, from: origin, attach: attach,
          context: context, live: live, stop: stop))
    }
  }

  /// - Returns: the state that the transfer ended in.
  package func run(release: @Sendable () -> Void) async -> TransferState {
    switch runner {
    case .download(let download):
      await download.run(release: release)
      return await download.finalState
    case .upload(let upload):
      await upload.run(release: release)
      return await upload.finalState
    }
  }

  /// Records that a transfer could not be begun.
  ///
  /// - Returns: the state that it ended in.
  package static func fail(
    _ transfer: LedgerTransfer, context: TransferContext, stop: StopFlag, _ failure: Failure
  ) -> TransferState {
    let record = TransferRecord(transfer, context: context, stop: stop)
    record.begin()
    record.end(.failed(failure))
    return record.state
  }
}
