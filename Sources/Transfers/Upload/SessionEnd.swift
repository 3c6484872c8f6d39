package import Endpoints
import HTTPClient
package import JobModel

/// Ends remote sessions that nobody goes on with: what they hold is paid for.
package enum SessionEnd {
  /// Waits for no admission, and some seconds at most: a server that is silent is asked once.
  ///
  /// - Returns: nil once the session is gone, as far as that can be known; else what stood in the way.
  package nonisolated(nonsending) static func end(
    _ session: RemoteSession, at sink: any RemoteSink
  ) async -> Failure? {
    do { return try await sink.abort(session) } catch { return Failure(error) }
  }

  /// What the user is told of one that is left.
  package static func remark(
    _ id: String, of job: String, _ session: RemoteSession, _ failure: Failure
  ) -> Diagnostic {
    Diagnostic(
      .warning, "\(id): the upload session \(session.id) could not be ended: \(failure.message)",
      hint: "the next run of `\(job)` tries again, and so does `haul gc \(job)`")
  }
}
