package import Endpoints
import JobModel

// What the engine reads and writes through: HTTP is sent by a requester, any other protocol by the kind itself.

extension Access {
  /// Whose words for a refusal count.
  package var refusals: any RemoteProtocol {
    if case .http(let remote as any RemoteProtocol) = self { remote } else { HTTPErrors() }
  }
}

extension DownloadAccess {
  package func source(_ requester: Requester) -> any RemoteSource {
    switch self {
    case .http(let download): HTTPSource(download, requester)
    case .direct(let download): download.source(requester.services)
    }
  }
}

extension UploadAccess {
  package func sink(_ requester: Requester) -> any RemoteSink {
    switch self {
    case .http(let upload): HTTPSink(upload, requester)
    case .direct(let upload): upload.sink(requester.services)
    }
  }
}

/// Where a listing goes on.
package enum ListingPlace: Sendable, Hashable {
  case beginning
  /// At the page that the server has marked so.
  case mark(String)
  /// Behind this name, of kinds whose listings tell versions.
  case after(String)

  var mark: String? { if case .mark(let mark) = self { mark } else { nil } }
}

extension ListingAccess {
  /// What lies right below a prefix, its folders by name; nil where that can't be asked for.
  nonisolated(nonsending) func folders(of prefix: String, _ requester: Requester) async throws -> ListedPage?
  {
    guard case .http(let listing) = self, let request = listing.listFolders(prefix) else { return nil }
    let response = try await requester.call(request)
    return try listing.listed(response, prefix: prefix, page: nil, now: requester.context.clock.now()).get()
  }

  /// The page that begins behind a name, asked for once; nil where listings begin at their beginning.
  ///
  /// - Parameter requester: of one of the transfers that it tells of.
  package nonisolated(nonsending) func page(
    of prefix: String, after name: String, _ requester: Requester
  ) async throws -> ListedPage? {
    guard case .http(let listing) = self, let request = listing.list(prefix, after: name) else { return nil }
    let response = try await requester.once(request)
    return try listing.listed(response, prefix: prefix, page: nil, now: requester.context.clock.now()).get()
  }

  /// - Parameter hasBegun: other pages have come. What is no page then, a proxy's error for instance, is asked for again; at the
  ///   beginning it shows a wrong URL, most likely, and fails at once.
  nonisolated(nonsending) func page(
    _ place: ListingPlace, of prefix: String, hasBegun: Bool, _ requester: Requester
  ) async throws -> ListedPage {
    let page = place.mark
    switch self {
    case .http(let listing):
      var request = listing.list(prefix, page: page)
      if case .after(let name) = place { request = listing.list(prefix, after: name) ?? request }
      let asked = request
      let result: Result<ListedPage, Failure> = try await requester.retrying {
        let response = try await requester.attempt(asked)
        let told = listing.listed(response, prefix: prefix, page: page, now: requester.context.clock.now())
        if hasBegun, case .failure(let failure) = told, failure.code == .protocolViolation,
          failure.class == .transient
        {
          throw failure
        }
        return told
      }
      return try result.get()
    case .direct(let listing):
      return try await requester.retrying { try await listing.page(page, of: prefix, requester.services) }
    }
  }
}
