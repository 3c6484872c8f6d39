import Endpoints
import HTTPClient
import JobModel

/// How a transfer's attach request gets to its receiver.
///
/// Belongs to one transfer's actor.
final class AttachRoute {
  let template: AttachTemplate
  /// Whose path it goes to, and whose credentials go along; nil where it goes to a URL.
  let endpoint: Endpoint?
  let requester: Requester

  private init(template: AttachTemplate, endpoint: Endpoint?, requester: Requester) {
    (self.template, self.endpoint, self.requester) = (template, endpoint, requester)
  }

  /// - Parameter requester: makes what sends it, under these settings.
  /// - Returns: nil where the transfer has none.
  static func of(
    _ settings: TransferSettings, endpoints: [String: Endpoint],
    requester: (Endpoint?, TransferSettings) -> Requester
  ) throws(Failure) -> AttachRoute? {
    guard let template = settings.then else { return nil }
    var own = TransferSettings(direction: .upload)
    own.policy = template.policy ?? settings.policy
    var endpoint: Endpoint?
    if let name = template.endpoint {
      endpoint = endpoints[name]
      guard endpoint != nil else {
        throw Failure(
          .internal,
          "the endpoint `\(name)` of `then` is not in the manifest any more: declare it again, or take the transfer out"
        )
      }
    }
    return AttachRoute(template: template, endpoint: endpoint, requester: requester(endpoint, own))
  }

  nonisolated(nonsending) func send(_ request: AttachRequest, key: String) async throws -> Int {
    var body: Request.Body = .none
    var headers = request.headers
    if let text = request.body {
      body = .bytes(Array(text.utf8))
      let json = HeaderSetting(name: "Content-Type", value: .text("application/json"))
      headers = HeaderSetting.overlay(headers, over: [json])
    }
    headers.append(HeaderSetting(name: "Idempotency-Key", value: .text(key)))
    return try await requester.attach(
      Request(request.method.word, try url(request), body: body), with: headers,
      isExpected: template.isExpected)
  }

  private func url(_ request: AttachRequest) throws(Failure) -> WebURL {
    guard let base = WebURL(endpoint?.url ?? request.target) else {
      throw Failure(.attachFailed, "the address of `then` is not an absolute http or https URL")
    }
    guard endpoint != nil, !request.target.isEmpty else { return base }
    return base.appending(WebURL.encode(request.target))
  }
}
