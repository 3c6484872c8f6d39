import Endpoints
package import JobModel

/// The URL of a transfer whose query may be a signature: where it is refused, there may be a new one.
///
/// Belongs to one transfer's actor.
package final class SignedURL {
  private let renewed: @Sendable () async throws -> Place?
  private let planned: WebURL
  private(set) var current: WebURL

  /// Nil where the place is no URL with a query.
  ///
  /// - Parameter renewed: reads the place anew.
  package init?(_ place: Place, renewed: @escaping @Sendable () async throws -> Place?) {
    guard case .url(let text) = place, let url = WebURL(text), url.query != nil else { return nil }
    self.renewed = renewed
    (planned, current) = (url, url)
  }

  /// The URL that a request goes to: protocols know the one of the plan.
  func replacing(_ url: WebURL) -> WebURL { url == planned ? current : url }

  /// Whether a request goes to the URL of the plan, or to the one that has taken its place.
  func replaces(_ url: WebURL) -> Bool { url == planned }

  /// Reads it anew; false where there is no other one than the refused.
  ///
  /// - Parameter refused: what the request went to: another request may have found a newer one meanwhile.
  nonisolated(nonsending) func renew(after refused: WebURL) async throws -> Bool {
    guard current == refused else { return true }
    guard case .url(let text) = try await renewed(), let url = WebURL(text), url != refused else {
      return current != refused
    }
    current = url
    return true
  }
}
