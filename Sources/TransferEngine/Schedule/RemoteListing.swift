import Admission
package import Endpoints
package import JobModel

/// Asks an endpoint what lies below a prefix, a page at a time.
package actor RemoteListing {
  nonisolated private let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let context: EngineContext
  private let authenticator: Authenticator

  package init(_ context: EngineContext) {
    executor = context.transport.executor
    self.context = context
    authenticator = Authenticator(context)
  }

  /// - Parameters:
  ///   - page: the mark of the page wanted; nil for the first.
  ///   - settings: of the transfers that will be made of it, for their policy.
  /// - Throws: `Failure`.
  package func page(
    _ page: String?, of prefix: String, at endpoint: Endpoint, settings: TransferSettings
  ) async throws -> ListedPage {
    guard let url = WebURL(endpoint.url) else { throw Failure(.internal, "the URL can't be read") }
    let remote = try endpoint.driver.listingAccess(at: url)
    let requester = Requester(
      context: context, authenticator: authenticator, endpoint: endpoint, remote: remote.refusals,
      settings: settings, throttle: Throttle(settings.policy), id: "\(endpoint.name):\(prefix)",
      live: LiveTransfer(seq: 0, id: prefix, direction: .download))
    do {
      return try await remote.page(page, of: prefix, requester)
    } catch let failure as Failure {
      throw failure.without(context.mask)
    }
  }
}
