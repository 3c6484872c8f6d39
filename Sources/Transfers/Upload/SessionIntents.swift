import Admission
import Endpoints
import HTTPClient
import JobLedger
import JobModel

/// The sessions of an upload on record: what is about to be asked for, what was asked for without an answer, and what is
/// to be ended.
struct SessionIntents {
  let scope: UploadScope
  private var context: TransferContext { scope.context }
  private var record: TransferRecord { scope.record }

  /// Records what a session is about to be asked for under; one that was asked for before, and that this request does not
  /// give again, is ended. Nil where nothing could be found again, by a key or by its time.
  nonisolated(nonsending) func intend(_ source: UploadSource) async throws -> SessionIntent? {
    let isListed = scope.traits.listsSessions
    guard let key = source.key, isListed || scope.traits.keysSessions else { return nil }
    let seq = record.transfer.seq
    let intent = SessionIntent(
      key: key, size: source.size, contentType: source.contentType, chunkSize: source.chunkSize,
      askedAt: isListed ? context.client.clock.now() : nil)
    let old =
      try context.uploads.intents.mayHave(seq, in: context.run.ledger)
      ? context.run.ledger.intents(of: seq) : []
    guard !old.contains(intent) else { return intent }
    if isListed {
      // An upload does not wait for what an earlier one may have left.
      await recall(old)
    } else {
      for one in old {
        if one.key == key {
          context.uploads.intents.remove(seq)
        } else {
          try await recall(one, at: scope.sink)
        }
      }
    }
    context.uploads.intents.add(seq)
    context.run.writer.submit(.intent(seq: seq, intent))
    // The server is not asked before it is on record.
    try await context.run.writer.barrier()
    return intent
  }

  /// The session that was asked for is on record. Where it took several requests, those before may have opened others.
  func settle(_ intent: SessionIntent, asked tries: Int) {
    if tries > 1, intent.askedAt != nil { noteAskedAgain(intent) } else { forget(intent) }
  }

  /// No session came of it. Only a first try says that none was opened.
  func settle(_ intent: SessionIntent, asked tries: Int, failure error: any Error) {
    let failure = Failure(error)
    guard intent.askedAt != nil else {
      // Its key would be answered so once more.
      if failure.neverOpens { forget(intent) }
      return
    }
    // Nothing was sent where no connection was made, or where others had found the host silent.
    if tries == 1, failure.openedNothing || failure.isUnconnected || failure.class == .deferred {
      forget(intent)
    } else {
      noteAskedAgain(intent)
    }
  }

  /// What was asked for up to now may have been opened: a later run, or `haul gc`, looks for it.
  private func noteAskedAgain(_ intent: SessionIntent) {
    var intent = intent
    intent.askedAgain(at: context.client.clock.now())
    context.run.writer.submit(.intent(seq: record.transfer.seq, intent))
  }

  private func forget(_ intent: SessionIntent) {
    context.uploads.intents.remove(record.transfer.seq)
    context.run.writer.submit(.answered(seq: record.transfer.seq, intent))
  }

  /// Ends the sessions that were asked for and are not on record.
  private nonisolated(nonsending) func recall(_ intent: SessionIntent, at sink: any RemoteSink) async throws {
    let found: [RemoteSession]
    switch try await IntendedSession.find(intent, at: sink, context.client, context.run.ledger) {
    case .early: return
    case .unlisted(let failure):
      context.run.remark(IntendedSession.unlisted(record.id, record.transfer.destination, failure))
      found = []
    case .sessions(let sessions): found = sessions
    }
    for session in found { context.run.writer.submit(.abandoned(seq: record.transfer.seq, session)) }
    forget(intent)
    for session in found { await end(session) }
  }

  /// The same for all; left on record where the server can't be asked at once.
  private nonisolated(nonsending) func recall(_ intents: [SessionIntent]) async {
    guard await context.client.admission.cooldown(.silence(scope.sink.origin)) == nil else { return }
    do {
      for intent in intents { try await recall(intent, at: scope.sink.hasty()) }
    } catch {
      context.run.remark(
        IntendedSession.remark(record.id, of: context.run.job, record.transfer.destination, Failure(error)))
    }
  }

  /// Ends whatever is open for the upload, as far as the server can be reached; what is left is on record until it is
  /// ended.
  nonisolated(nonsending) func abandon() async {
    let (seq, ledger) = (record.transfer.seq, context.run.ledger)
    // One that was answered is forgotten, and the ledger may not know it yet: asked again, it could open a session.
    if (try? context.uploads.intents.mayHave(seq, in: ledger)) ?? true,
      let intents = try? ledger.intents(of: seq)
    {
      await recall(intents)
    }
    if let session = record.progress.session { await end(session) }
    record.note(.sessionEnded)
    context.run.writer.submit(.noChunks(seq: record.transfer.seq))
  }

  /// Ends one session; it is on record until it is ended.
  nonisolated(nonsending) func end(_ session: RemoteSession) async {
    guard scope.sink.origin(ending: session) != nil else { return }
    context.run.writer.submit(.abandoned(seq: record.transfer.seq, session))
    if let failure = await SessionEnd.end(session, at: scope.sink) {
      context.run.remark(SessionEnd.remark(record.id, of: context.run.job, session, failure))
    } else {
      context.run.writer.submit(.ended(seq: record.transfer.seq, session))
    }
  }
}
