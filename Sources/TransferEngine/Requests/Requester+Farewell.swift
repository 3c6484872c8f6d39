import JobModel
import Protocols

extension Requester {
  /// Ends a remote session, which nobody waits long for: a server that is silent is asked once, for some seconds.
  ///
  /// - Returns: why the server may still have the session; nil where it has it no longer.
  nonisolated(nonsending) func farewell(_ request: Request) async -> Failure? {
    let (origin, now) = (request.url.origin, context.clock.now)
    if let silence = context.silentHosts.current(origin, now: now()) { return silence }
    let hasty = hasty()
    defer { count(hasty.takeTally()) }
    var tries = 0
    while true {
      tries += 1
      do {
        let answer = try await hasty.call(request)
        guard remote.refuses(answer), ![404, 410].contains(answer.head.status) else { return nil }
        return remote.refusal(answer, doing: request.method, now: now())
      } catch {
        guard let failure = try? Self.failure(error) else {
          return Failure(.networkUnreachable, "the request was interrupted")
        }
        guard failure.httpStatus != nil else {
          if failure.code == .networkUnreachable || failure.code == .timeout {
            context.silentHosts.note(origin, failure, now: now())
          }
          return failure
        }
        guard Self.mayRetry(failure), tries < Self.farewells else { return failure }
        try? await context.transport.sleep(seconds: 0.3)
      }
    }
  }

  /// Times that a server which answers is asked.
  private static let farewells = 3
}
