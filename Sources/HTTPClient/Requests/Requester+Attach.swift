package import Endpoints
package import JobModel

/// What an attach request is answered with, in HTTP's own words.
///
/// Its body goes to whom it was written for: only a redirect that keeps method and body is followed (RFC 9110, 15.4.8 and
/// 15.4.9).
package struct AttachErrors: RemoteProtocol {
  package init() {}

  package func follows(redirect status: Int) -> Bool { status == 307 || status == 308 }
}

extension Requester {
  /// Sends an attach request until its answer is one that is expected, or none will be.
  ///
  /// - Parameter headers: over those of the policy and the endpoint.
  /// - Returns: the status.
  /// - Throws: `ATTACH_FAILED` where the answer says that no other try would do better.
  package nonisolated(nonsending) func attach(
    _ request: Request, with headers: [HeaderSetting], isExpected: (Int) -> Bool
  ) async throws -> Int {
    settings.headers = headers
    return try await retrying {
      var response = AttachResponse()
      var url = request.url
      do {
        url = try await self.send(request, body: .none, isShort: true) {
          response = AttachResponse()
          return response
        }
      } catch is AttachResponse.Enough {}
      guard let head = response.head else {
        throw Failure(.networkUnreachable, "\(request.method) \(request.url) was not answered")
      }
      if isExpected(head.status) { return head.status }
      throw self.error(from: self.received(head, response.text, from: url))
    }
  }

  private func error(from response: Response) -> Failure {
    let status = response.status
    var failure = HTTPFailure.of(response, doing: "attach", now: context.clock.now())
    switch status {
    case 408, 425, 500...: failure.code = .serverError
    case 429: break
    default:
      failure.code = .attachFailed
      if status < 400 { failure.message += ", which `expect_status` does not name" }
    }
    failure.class = failure.code == .attachFailed ? .permanent : .transient
    return failure
  }
}
