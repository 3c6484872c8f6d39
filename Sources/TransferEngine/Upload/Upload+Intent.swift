import Admission
import Endpoints
import JobLedger
import JobModel

/// Sessions are recorded before they are asked for; what was asked for without an answer is found and ended.
extension Upload {
  /// What was asked for without an answer can be found again, by its key or by its time.
  var canFindAgain: Bool { traits.keysSessions || traits.listsSessions }

  /// Records what a session is about to be asked for under; one that was asked for before, and that this request does not
  /// give again, is ended.
  func intend(_ key: String) async throws -> SessionIntent {
    let (seq, isListed) = (book.transfer.seq, traits.listsSessions)
    let intent = SessionIntent(
      key: key, size: source.size, contentType: source.contentType, chunkSize: source.chunkSize,
      askedAt: isListed ? context.clock.now() : nil)
    let old = try context.intents.mayHave(seq, in: context.ledger) ? context.ledger.intents(of: seq) : []
    guard !old.contains(intent) else { return intent }
    if isListed {
      // An upload does not wait for what an earlier one may have left.
      await recallIntents(old)
    } else {
      for one in old {
        if one.key == key { context.intents.remove(seq) } else { try await recall(one, at: sink) }
      }
    }
    context.intents.add(seq)
    context.writer.submit(.intent(seq: seq, intent))
    // The server is not asked before it is on record.
    try await context.writer.barrier()
    return intent
  }

  /// The session that was asked for is on record. Where it took several requests, those before may have opened others.
  func settle(_ intent: SessionIntent, asked tries: Int) {
    if tries > 1, intent.askedAt != nil { noteAskedAgain(intent) } else { forget(intent) }
  }

  /// No session came of it. Only a first try says that none was opened.
  func settle(_ intent: SessionIntent, asked tries: Int, failure error: any Error) {
    guard intent.askedAt != nil else { return }
    let failure = Failure(error)
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
    intent.askedAgain(at: context.clock.now())
    context.writer.submit(.intent(seq: book.transfer.seq, intent))
  }

  private func forget(_ intent: SessionIntent) {
    context.intents.remove(book.transfer.seq)
    context.writer.submit(.answered(seq: book.transfer.seq, intent))
  }

  /// Ends the sessions that were asked for and are not on record.
  private func recall(_ intent: SessionIntent, at sink: any RemoteSink) async throws {
    let found: [RemoteSession]
    switch try await IntendedSession.find(intent, at: sink, context) {
    case .early: return
    case .unlisted(let failure):
      context.remark(IntendedSession.unlisted(book.id, book.transfer.destination, failure))
      found = []
    case .sessions(let sessions): found = sessions
    }
    for session in found { context.writer.submit(.abandoned(seq: book.transfer.seq, session)) }
    forget(intent)
    for session in found { await end(session) }
  }

  /// As `recall`, for whatever was about to be opened; left on record where the server can't be asked at once.
  func recallIntents(_ intents: [SessionIntent]? = nil) async {
    guard let intents = try? intents ?? context.ledger.intents(of: book.transfer.seq),
      await context.admission.cooldown(.silence(sink.origin)) == nil
    else { return }
    do {
      for intent in intents { try await recall(intent, at: sink.hasty()) }
    } catch {
      context.remark(
        IntendedSession.remark(book.id, of: context.job, book.transfer.destination, Failure(error)))
    }
  }
}
