import Endpoints
import JobLedger
import JobModel

/// The URL of a transfer whose query may be a signature: where it is refused, the transfer's row may have a new one.
///
/// Belongs to one transfer's actor.
final class SignedURL {
  private let context: EngineContext
  private let transfer: LedgerTransfer
  private let planned: WebURL
  private(set) var current: WebURL

  /// Nil where the place is no URL with a query.
  init?(_ transfer: LedgerTransfer, _ context: EngineContext) {
    guard context.renewRows != nil, case .url(let text) = Self.place(transfer), let url = WebURL(text),
      url.query != nil
    else { return nil }
    (self.transfer, self.context) = (transfer, context)
    (planned, current) = (url, url)
  }

  private static func place(_ transfer: LedgerTransfer) -> Place {
    transfer.settings.direction == .download ? transfer.source : transfer.destination
  }

  /// The URL that a request goes to: protocols know the one of the plan.
  func replacing(_ url: WebURL) -> WebURL { url == planned ? current : url }

  /// Reads it anew from the transfer's row; false where that has no other one.
  nonisolated(nonsending) func renew() async throws -> Bool {
    await context.renewRows?()
    guard let now = try context.ledger.transfer(transfer.seq), case .url(let text) = Self.place(now),
      let url = WebURL(text), url != current
    else { return false }
    current = url
    return true
  }
}
