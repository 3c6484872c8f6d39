import Admission
import Endpoints
import HTTPClient
import JobLedger
import JobModel

/// Looks at a transfer's object, or at a copy's source, in a listing of its endpoint, where so many others are looked at that one request tells of hundreds.
struct ListedLook {
  /// Seconds for which a page is believed.
  private static let age = 60.0

  private let record: TransferRecord
  private let requester: Requester
  private let place: Place
  /// Which side of the plan's rows lies at this endpoint.
  private let side: Direction

  init(_ record: TransferRecord, _ requester: Requester, isOfCopiesSource: Bool = false) {
    (self.record, self.requester) = (record, requester)
    let transfer = record.transfer
    (place, side) =
      isOfCopiesSource ? (transfer.source, .download) : (transfer.remote, transfer.settings.direction.wire)
  }

  /// A listing says that the object is the version on record. Where it does not, the object is to be asked for.
  nonisolated(nonsending) func isAsRecorded(_ known: RemoteObject) async throws -> Bool {
    guard known.etag != nil, case .entry(let entry) = try await answer() else { return false }
    return entry.vouches(for: known)
  }

  /// - Throws: `LedgerError`, `CancellationError`.
  nonisolated(nonsending) func answer() async throws -> ListedObject {
    let context = record.context
    guard case .remote(let name, let path) = place, let endpoint = context.endpoints[name],
      endpoint.driver.abilities.listsVersions, let url = WebURL(endpoint.url),
      let listing = try? endpoint.driver.listingAccess(at: url)
    else { return .untold }
    let key = ListedWindows.Key(endpoint: name, direction: side)
    // What it needs may have changed the object in this run.
    let mayChange = !record.transfer.settings.needs.isEmpty
    // Of one moment for all pages that are asked for: one that takes long to come would be too old for ever.
    let since = mayChange ? record.began : context.client.clock.now() - Self.age
    while true {
      let step = try await context.listings.step(
        path, row: record.transfer.seq, key, since: since, context.run.ledger)
      switch step {
      case .told(let answer): return answer
      case .ask(let place):
        // Others hold their permits while they wait for the page: it waits for none of these.
        let holding = requester.transfer?.buffers.hold()
        try await ask(listing, place, key)
        withExtendedLifetime(holding) {}
      }
    }
  }

  private nonisolated(nonsending) func ask(
    _ listing: ListingAccess, _ place: ListedPlace, _ key: ListedWindows.Key
  ) async throws {
    let (listings, now) = (record.context.listings, record.context.client.clock.now())
    do {
      guard let page = try await listing.page(of: place.prefix, after: place.after, requester) else {
        throw Failure(.internal, "listings of `\(key.endpoint)` begin at their beginning")
      }
      await listings.asked(place, key, at: now, .success(page))
    } catch {
      await listings.asked(place, key, at: now, error is CancellationError ? nil : .failure(Failure(error)))
      if error is CancellationError { throw error }
    }
  }
}
