import Endpoints
import JobModel

/// Ends remote sessions that nobody goes on with: what they hold is paid for.
enum SessionEnd {
  /// Rounds where a session may outlive its end.
  private static let tries = 3

  /// Goes past the gate, and waits some seconds at most: a server that is silent is asked once.
  ///
  /// - Returns: nil once the session is gone, as far as that can be known; else what stood in the way.
  nonisolated(nonsending) static func end(
    _ session: RemoteSession, at remote: any UploadProtocol, by requester: Requester, now: Double
  ) async -> Failure? {
    guard let request = remote.abort(session) else { return nil }
    let (origin, context) = (request.url.origin, requester.context)
    if let silence = context.silentHosts.current(origin, now: now) { return silence }
    let hasty = requester.hasty()
    defer { requester.count(hasty.takeTally()) }
    do {
      for _ in 0..<tries {
        let answer = try await hasty.call(request)
        if [404, 410].contains(answer.status) { return nil }
        guard (200...299).contains(answer.status) else {
          return remote.refusal(answer, doing: "end the upload", now: now)
        }
        // What was on its way may have come behind the end.
        guard remote.mayOutliveItsEnd, let query = remote.query(session, after: nil),
          try await hasty.call(query).status == 200
        else { return nil }
      }
      return Failure(.serverError, "\(remote.url) still has the upload after it was ended \(tries) times")
    } catch {
      context.silentHosts.note(origin, error, now: now)
      return Failure(error)
    }
  }

  /// What the user is told of one that is left.
  static func remark(
    _ id: String, of job: String, _ session: RemoteSession, _ failure: Failure
  ) -> Diagnostic {
    Diagnostic(
      .warning, "\(id): the upload session \(session.id) could not be ended: \(failure.message)",
      hint: "the next run of `\(job)` tries again, and so does `haul gc \(job)`")
  }
}
