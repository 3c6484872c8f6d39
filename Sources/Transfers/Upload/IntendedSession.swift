package import Endpoints
package import HTTPClient
package import JobLedger
package import JobModel

/// The sessions that an earlier attempt asked for and never heard of: the server may have opened them.
package enum IntendedSession {
  /// What became of one.
  package enum Finding {
    /// Those that can only be what was asked for; none where none was opened.
    case sessions([RemoteSession])
    /// The server does not say what is open.
    case unlisted(Failure)
    /// A stranger's session may still look the same.
    case early
  }

  /// How long after it was last asked for a session counts as opened for it, in seconds.
  private static let span: Double = 60
  /// How old an empty session is when it is ended, in seconds: a stranger's of the same key, whose first part is under
  /// way, is empty as well.
  private static let patience: Double = 15 * 60
  /// What a server's `Date` may be behind its own records of a moment: it has whole seconds.
  private static let grain: Double = 2

  /// Asks for it under its key, which gives it again; a server that knows no keys gives a new one. S3 has no keys, and
  /// is asked what is open.
  ///
  /// - Throws: what kept the server from being asked.
  package nonisolated(nonsending) static func find(
    _ intent: SessionIntent, at sink: any RemoteSink, _ client: ClientContext,
    _ ledger: JobLedger
  ) async throws -> Finding {
    var source = UploadSource(
      size: intent.size, contentType: intent.contentType, chunkSize: intent.chunkSize)
    if sink.traits.listsSessions {
      guard isDue(intent, now: client.clock.now()) else { return .early }
      return try await list(intent, source, at: sink, client, ledger)
    }
    source.key = intent.key
    guard sink.traits.opensSession(for: source) else { return .sessions([]) }
    do {
      switch try await sink.begin(source, renewing: nil) {
      // What may not be recorded can't be gone on with.
      case .opened(let session, _): return .sessions(session.holds(client.mask) ? [] : [session])
      case .limited: return .sessions([])
      }
    } catch let failure as Failure {
      if failure.class == .sessionGone { return .sessions([]) }
      if failure.neverOpens { return .sessions([]) }
      throw failure
    }
  }

  /// By then all that can have been opened for it is old enough.
  package static func isDue(_ intent: SessionIntent, now: Double) -> Bool {
    guard let last = intent.lastAskedAt else { return true }
    // A record of a clock that was ahead would never be due; nothing of the future is found for it.
    return now >= last + span + patience || last > now + span + patience
  }

  /// Those among the open ones that were opened when it was asked for, hold no finished part (parts are sent behind the
  /// record), and are not on record. A stranger's that is as old and still empty looks the same.
  private nonisolated(nonsending) static func list(
    _ intent: SessionIntent, _ source: UploadSource, at sink: any RemoteSink, _ client: ClientContext,
    _ ledger: JobLedger
  ) async throws -> Finding {
    let began = client.clock.now()
    let (open, there): ([OpenSession], Double)
    switch try await sink.sessions() {
    case .untold(let failure): return .unlisted(failure)
    case .sessions(let listed, let now): (open, there) = (listed, now)
    }
    guard let first = intent.askedAt, let last = intent.lastAskedAt else { return .sessions([]) }
    // By the store's clock, which was read at some time while it was asked: tries and waits are in that. As it is due, the end
    // of the span is further back than a session must be old.
    let (earliest, latest) = (first + there - client.clock.now() - grain, last + there - began + span)
    var found: [RemoteSession] = []
    // Not a range, which a clock that was set back meanwhile would turn round.
    for one in open where one.openedAt >= earliest && one.openedAt <= latest {
      let session = RemoteSession(id: one.id, chunkSize: intent.chunkSize)
      guard try !ledger.hasSession(one.id), !session.holds(client.mask) else { continue }
      switch try await sink.holdings(of: session, source: source) {
      case nil: continue
      case .success(let holdings): if holdings.chunks.isEmpty { found.append(session) }
      case .failure(let failure): guard !failure.mayPass else { throw failure }
      }
    }
    return .sessions(found)
  }

  /// What the user is told where the server could not be asked.
  package static func remark(_ id: String, of job: String, _ place: Place, _ failure: Failure) -> Diagnostic {
    Diagnostic(
      .warning,
      "\(id): whether `\(place.text)` opened an upload session that was asked for can't be known now: \(failure.message)",
      hint: "the next run of `\(job)` asks again, and so does `haul gc \(job)`")
  }

  /// What the user is told where the server does not say what is open.
  package static func unlisted(_ id: String, _ place: Place, _ failure: Failure) -> Diagnostic {
    Diagnostic(
      .warning,
      "\(id): an upload that `\(place.text)` may have opened without an answer can't be looked for: \(failure.message)",
      hint: "a lifecycle rule of the bucket (AbortIncompleteMultipartUpload) ends such uploads")
  }
}
