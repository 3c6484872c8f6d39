import Endpoints
import JobModel

extension Requester {
  /// Ten tags of 128 and 256 characters, each written as a reference, are half of it.
  private static let longestTags = 64 << 10

  /// The tags of an object, or why the store does not tell them; nil where the kind has none. Only passing faults are
  /// retried, and a store that knows no tags is not asked twice.
  nonisolated(nonsending) func tags(
    of object: RemoteObject, _ remote: any DownloadProtocol
  ) async throws -> Result<[String: String], Failure>? {
    guard let request = remote.askTags(of: object) else { return nil }
    return try await retrying {
      let response: Response
      do { response = try await self.once(request, limit: Self.longestTags) } catch let failure as Failure
        where failure.code == .protocolViolation
      {
        // An object in place of its tags, for instance, which is longer than any answer.
        return .failure(failure.classed(.permanent))
      }
      let tags = remote.tags(response, now: self.context.clock.now())
      if case .failure = tags { try self.refusePassing(response, to: request) }
      return tags
    }
  }
}
