import Endpoints
import JobModel

/// Looks at an answer's head before the real sink does: redirects and refused credentials are not for it.
///
/// Used on the transport's executor alone, hence sendable to it.
final class RedirectWriter: BodyWriter, @unchecked Sendable {
  /// Thrown at what goes on behind a refusal's text.
  struct Enough: Error {}

  /// Bytes of a refusal, or of a page about a redirect, that are waited for.
  private static let longestRefusal = 1 << 20

  enum Detour {
    case redirect(WebURL)
    case renewal
    /// The URL's own signature is refused.
    case refusedURL
  }
  private let origin: WebURL
  private let method: String
  private let canRenew: Bool
  private let canRenewURL: Bool
  private let followsRedirect: (Int) -> Bool
  private let inner: any BodyWriter
  /// How long a refusal's text is waited for from its head on: a server may send it a few bytes at a time.
  private let patience: Duration
  private(set) var detour: Detour?
  private(set) var status: Int?
  private var refused = 0
  private var answeredAt: ContinuousClock.Instant?
  /// The server's clock, in seconds since 1970.
  private(set) var date: Double?

  init(
    origin: WebURL, method: String, canRenew: Bool, canRenewURL: Bool,
    followsRedirect: @escaping (Int) -> Bool,
    inner: any BodyWriter, patience: Duration = .seconds(30)
  ) {
    self.origin = origin
    self.method = method
    self.canRenew = canRenew
    self.canRenewURL = canRenewURL
    self.followsRedirect = followsRedirect
    self.inner = inner
    self.patience = patience
  }

  func head(_ head: ResponseHead) throws {
    status = head.status
    answeredAt = ContinuousClock.now
    if head.status >= 400 { date = head.headers["Date"].flatMap(HTTPDate.seconds) }
    switch head.status {
    case 301, 302, 303, 307, 308:
      guard followsRedirect(head.status) else { break }
      // 303 after a PUT or POST names a page about the result, not another place for the body.
      guard head.status != 303 || method == "GET" || method == "HEAD" else { break }
      guard let location = head.headers["Location"] else { break }
      guard let target = origin.resolving(location) else {
        throw Failure(
          .policyDenied, "\(origin) redirects to something that is not http(s), or holds a user name",
          httpStatus: head.status)
      }
      detour = .redirect(target.encodingRaw)
      return
    case 401 where canRenew:
      detour = .renewal
      return
    case 403 where canRenewURL:
      detour = .refusedURL
      return
    default: break
    }
    try inner.head(head)
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws {
    if let status, status >= 300 {
      refused += bytes.count
      let isInTime = answeredAt.map { $0.duration(to: .now) < patience } ?? true
      guard refused <= Self.longestRefusal, isInTime else { throw Enough() }
    }
    if detour == nil { try inner.body(bytes) }
  }

  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool { detour == nil && inner.mustWait(resume) }
}
