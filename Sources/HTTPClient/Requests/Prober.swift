package import Admission
package import Endpoints
package import JobModel

/// Asks servers what they hold, outside of a run: what a plan does not know, and what became of finished uploads.
package actor Prober {
  nonisolated private let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let context: ClientContext
  private let endpoints: [String: Endpoint]
  /// What all reading shares, beside its policy's limit.
  private let rates: [RateLimit]
  /// Requests under one policy share its limits.
  private var throttles: [EffectivePolicy: Throttle] = [:]

  /// - Parameter rates: each holds for all bytes that `readBack` reads.
  package init(_ context: ClientContext, endpoints: [String: Endpoint], rates: [RateLimit] = []) {
    executor = context.transport.executor
    self.context = context
    self.endpoints = endpoints
    self.rates = rates
  }

  /// What the server says of a download's source, without a byte of its body.
  package func probe(_ source: Place, settings: TransferSettings) async throws -> RemoteObject {
    let place = try RemotePlace(source, endpoints: endpoints)
    let remote = try place.download()
    return try await remote.source(requester(place, remote.refusals, settings)).probe()
  }

  /// What stands where an upload has put its file; nil where that can't be asked.
  package func look(
    for file: UploadedFile, at destination: Place, settings: TransferSettings
  ) async throws -> (found: FoundFile?, traits: any UploadTraits) {
    let sink = try sink(destination, settings)
    let found = try await sink.look(for: file)
    guard case .object(let object, let checks)? = found else { return (found, sink.traits) }
    return (.object(object.without(context.mask), checks: checks), sink.traits)
  }

  /// Reads an upload's file whole, keeps nothing of it, and gives its SHA-256; nil where that can't be done.
  package func readBack(
    _ file: UploadedFile, at destination: Place, settings: TransferSettings
  ) async throws -> (digest: String, bytes: Int64)? {
    var bytes: Int64 = 0
    let there = try await sink(destination, settings).readBack(file) { bytes += Int64($0) }
    return there.map { ($0.digest, bytes) }
  }

  private func sink(_ destination: Place, _ settings: TransferSettings) throws -> any RemoteSink {
    let place = try RemotePlace(destination, endpoints: endpoints)
    let remote = try place.upload()
    return remote.sink(requester(place, remote.refusals, settings))
  }

  private func requester(
    _ place: RemotePlace, _ refusals: any RemoteProtocol, _ settings: TransferSettings
  ) -> Requester {
    Requester(
      context, endpoint: place.endpoint, remote: refusals, settings: settings,
      throttle: throttle(settings.policy))
  }

  private func throttle(_ policy: EffectivePolicy) -> Throttle {
    if let known = throttles[policy] { return known }
    let throttle = Throttle(
      down: rates + [RateLimit(policy.downloadRate)], up: [RateLimit(policy.uploadRate)])
    throttles[policy] = throttle
    return throttle
  }
}
