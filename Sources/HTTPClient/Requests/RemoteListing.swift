import Admission
package import Endpoints
package import JobModel

/// Asks an endpoint what lies below a prefix, a page at a time.
package actor RemoteListing {
  nonisolated private let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let context: ClientContext

  package init(_ context: ClientContext) {
    executor = context.transport.executor
    self.context = context
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
      context, endpoint: endpoint, remote: remote.refusals, settings: settings,
      throttle: Throttle(settings.policy))
    do {
      return try await remote.page(page, of: prefix, requester)
    } catch let failure as Failure {
      throw failure.without(context.mask)
    }
  }
}
