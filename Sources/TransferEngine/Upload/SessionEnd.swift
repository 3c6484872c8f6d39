import Endpoints
import JobModel

/// Ends remote sessions that nobody goes on with: what they hold is paid for.
enum SessionEnd {
  /// Goes past the gate, and waits some seconds at most: a server that is silent is asked once.
  ///
  /// - Returns: nil once the session is gone, as far as that can be known; else what stood in the way.
  nonisolated(nonsending) static func end(
    _ session: RemoteSession, at sink: any RemoteSink, _ context: EngineContext
  ) async -> Failure? {
    guard let origin = sink.origin(ending: session) else { return nil }
    let now = context.clock.now()
    if let silence = context.silentHosts.current(origin, now: now) { return silence }
    do { return try await sink.abort(session) } catch {
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
