package import JobLedger
package import JobModel
import Protocols

/// What a run would do with a transfer, told without moving or changing anything.
package struct Forecast: Sendable, Hashable {
  package enum Action: Sendable, Hashable { case transfer, upToDate, resume, skip }
  package var action: Action
  package var reason: String?
  /// Bytes; nil while nobody knows.
  package var size: Int64?
  package var chunkSize: Int64?
  package var chunks: Int?
  package var isResumable: Bool?
  package var isParallel: Bool?
  package var verifiedBy: [String] = []

  /// - Parameters:
  ///   - remote: what the server said when it was asked (`--probe`); nil where it was not.
  ///   - isNewRun: the next `haul run` starts a new run rather than going on with one.
  package static func of(
    _ transfer: LedgerTransfer, folder: Folder, endpoints: [String: Endpoint], remote: RemoteObject?,
    isNewRun: Bool
  ) -> Forecast {
    let isUpload = transfer.settings.direction == .upload
    let source = isUpload ? facts(transfer.source, folder) : nil
    let size =
      source?.size ?? remote?.size ?? transfer.progress.size ?? transfer.knownSize ?? transfer.expect.size
    var forecast = Forecast(action: .transfer, size: size)
    var known = Set(transfer.expect.digests.keys.map(\.rawValue))
    var abilities: UploadAbilities?
    if isUpload {
      let upload = try? ProtocolChoice.upload(transfer.destination, endpoints: endpoints)
      abilities = upload?.abilities(of: size)
      (forecast.isResumable, forecast.isParallel) = (abilities?.resumes, abilities?.isParallel)
      known.formUnion(abilities?.fileDigests.map(\.rawValue) ?? [])
    } else {
      let download = try? ProtocolChoice.download(transfer.source, endpoints: endpoints)
      let promised = download?.promisedDigests ?? []
      let ranges =
        remote?.servesRanges ?? transfer.progress.remote.servesRanges ?? (promised.isEmpty ? nil : true)
      (forecast.isResumable, forecast.isParallel) = (ranges, ranges)
      known.formUnion((remote ?? transfer.progress.remote).digests.keys.map(\.rawValue))
      known.formUnion(promised.map(\.rawValue))
    }
    forecast.verifiedBy = known.sorted() + (size == nil && transfer.expect.size == nil ? [] : ["size"])
    let isWhole = isUpload && forecast.isResumable == false
    var chunk = isWhole ? size : transfer.progress.chunkSize ?? transfer.settings.chunkBytes(size)
    if let size, let wanted = chunk, let abilities { chunk = abilities.chunkSize(wanted: wanted, of: size) }
    forecast.chunkSize = chunk
    forecast.chunks = size.flatMap { size in
      chunk.map { max(isWhole ? 1 : 0, ChunkLayout(size: size, chunkSize: $0).count) }
    }
    decide(&forecast, transfer, source: source, folder: folder, remote: remote, isNewRun: isNewRun)
    return forecast
  }

  private static func decide(
    _ forecast: inout Forecast, _ transfer: LedgerTransfer, source: FileFacts?, folder: Folder,
    remote: RemoteObject?,
    isNewRun: Bool
  ) {
    let progress = transfer.progress
    switch transfer.state {
    case .skipped(.disabled): (forecast.action, forecast.reason) = (.skip, "disabled")
    case .paused(.user): (forecast.action, forecast.reason) = (.skip, "user")
    case .failed where !isNewRun: (forecast.action, forecast.reason) = (.skip, "failed")
    case .canceled where !isNewRun: (forecast.action, forecast.reason) = (.skip, "canceled")
    case .skipped where !isNewRun: (forecast.action, forecast.reason) = (.skip, transfer.state.reason)
    case .completed where !isNewRun, .upToDate where !isNewRun: forecast.action = .upToDate
    case .queued, .running, .paused, .completed, .upToDate, .failed, .canceled, .skipped:
      if progress.completedAt != nil, transfer.settings.refresh != .always, stands(transfer, source, folder),
        remote.map({ progress.remote.isSameVersion(as: $0) }) ?? true
      {
        forecast.action = .upToDate
        forecast.reason = remote == nil ? "as recorded; the server was not asked" : nil
      } else if progress.completedAt == nil, progress.chunksCompleted > 0 || progress.session != nil {
        forecast.action = .resume
      } else if transfer.settings.direction == .upload, source == nil {
        forecast.reason = "the source is missing"
      }
    }
  }

  /// The local side is as it was recorded.
  private static func stands(_ transfer: LedgerTransfer, _ source: FileFacts?, _ folder: Folder) -> Bool {
    let recorded: FileFacts?
    let now: FileFacts?
    switch transfer.settings.direction {
    case .upload: (recorded, now) = (transfer.progress.source, source)
    case .download:
      recorded = transfer.progress.destination
      now = facts(.local(transfer.progress.resolvedDestination ?? transfer.destination.text), folder)
    }
    guard let recorded, let now else { return false }
    return recorded.size == now.size && (transfer.settings.refresh == .never || recorded.mtime == now.mtime)
  }

  private static func facts(_ place: Place, _ folder: Folder) -> FileFacts? {
    guard let path = place.localPath else { return nil }
    return try? OpenFile.reading(path.hasPrefix("/") ? path : folder.path + "/" + path).facts()
  }
}

extension TransferSettings {
  /// Bytes a chunk that the manifest asks for.
  package func chunkBytes(_ size: Int64?) -> Int64? {
    switch chunkSize {
    case .bytes(let bytes): bytes
    case .auto: size.map { ChunkLayout.automatic(size: $0) }
    }
  }
}

/// Asks servers for what a plan does not know, without reading a byte of a body.
package actor Prober {
  nonisolated private let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let context: EngineContext
  private let authenticator: Authenticator

  package init(_ context: EngineContext) {
    executor = context.transport.executor
    self.context = context
    authenticator = Authenticator(context)
  }

  /// What the server says of a download's source.
  package func probe(_ transfer: LedgerTransfer) async throws -> RemoteObject {
    let live = LiveTransfer(seq: transfer.seq, id: transfer.id, direction: .download)
    let remote = try ProtocolChoice.download(transfer.source, endpoints: context.endpoints)
    let requester = Requester(
      context: context, authenticator: authenticator,
      endpoint: ProtocolChoice.endpoint(transfer.source, endpoints: context.endpoints), remote: remote,
      settings: transfer.settings,
      throttle: Throttle(transfer.settings.policy), id: transfer.id, live: live)
    return try await Download(transfer, remote: remote, requester: requester, context: context, live: live)
      .probe()
  }
}
