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
  ///   - place: where the page begins.
  ///   - hasBegun: the store has told of other pages of the listing.
  ///   - settings: of the transfers that will be made of it, for their policy.
  /// - Throws: `Failure`.
  package func page(
    _ place: ListingPlace, of prefix: String, hasBegun: Bool, at endpoint: Endpoint,
    settings: TransferSettings
  ) async throws -> ListedPage {
    let (remote, requester) = try access(endpoint, settings)
    do {
      return try await remote.page(place, of: prefix, hasBegun: hasBegun, requester)
    } catch let failure as Failure {
      throw failure.without(context.mask)
    }
  }

  /// What lies right below a prefix, its folders by name; nil where that can't be asked for, or is refused.
  package func folders(
    of prefix: String, at endpoint: Endpoint, settings: TransferSettings
  ) async throws -> ListedPage? {
    let (remote, requester) = try access(endpoint, settings)
    // It only helps: what the store does not do is listed page by page.
    do { return try await remote.folders(of: prefix, requester) } catch is Failure { return nil }
  }

  private func access(
    _ endpoint: Endpoint, _ settings: TransferSettings
  ) throws -> (ListingAccess, Requester) {
    guard let url = WebURL(endpoint: endpoint.url) else {
      throw Failure(.internal, "the endpoint's URL `\(Masked.text(endpoint.url))` can't be read")
    }
    let remote = try endpoint.driver.listingAccess(at: url)
    let requester = Requester(
      context, endpoint: endpoint, remote: remote.refusals, settings: settings,
      throttle: Throttle(settings.policy))
    return (remote, requester)
  }
}
