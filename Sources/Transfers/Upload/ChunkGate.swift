import Endpoints
import HTTPClient
import JobModel

/// Lets the chunks of an upload begin: each in its server's turn, and at once where the server keeps a part of it, or the user
/// has said how many are to be in flight.
struct ChunkGate {
  let scope: UploadScope
  /// nil where nothing is known of the server.
  let order: UploadAbilities.Order?

  /// - Parameter send: says whether the server has taken a chunk.
  nonisolated(nonsending) func pass(
    _ bytes: Int64, _ send: nonisolated(nonsending) () async throws -> Bool
  ) async throws {
    guard scope.copiedBy == .relay, order != .byOffset, !scope.settings.policy.keepsChunksInFlight else {
      _ = try await send()
      return
    }
    let (turns, origin, clock) = (
      scope.context.uploads.chunkTurns, scope.sink.origin, scope.context.client.clock
    )
    try await turns.begin(bytes, at: origin, limit: scope.requester.rate(.upload), now: clock.now)
    var isTaken = false
    defer { turns.end(bytes, at: origin, isTaken: isTaken, now: clock.now()) }
    isTaken = try await send()
  }
}
