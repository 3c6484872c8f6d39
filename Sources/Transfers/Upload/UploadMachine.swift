import Endpoints
import HTTPClient
import JobModel

/// What an upload does next: a value that is told what happened and says what is to be done. No I/O.
struct UploadMachine {
  enum Phase {
    /// Whether anything has to be sent.
    case settling
    /// The source against the manifest, before each pass. A session that was lost is to be replaced.
    case checking(lost: RemoteSession?)
    case sendingWhole
    case opening(Opening)
    case sending(Sending)
    /// All is there; receipts may speak against some of it.
    case judging(RemoteSession, Round)
    case renewing(Renewal, Round)
    /// The intent to close the session is recorded.
    case finalizing(RemoteSession)
    case closing(RemoteSession)
    /// The request that makes the file appear failed so: the file may be there all the same.
    case looking(RemoteSession?, after: Failure)
    case proving
    /// A lost session is waited for.
    case waiting(lost: RemoteSession?)
    /// The damaged upload's session is asked what it holds.
    case repairing(Failure)
    case restarting
    case ended(TransferEnd)
  }

  /// How an upload comes by its session.
  enum Opening {
    /// The recorded one is near its end; `isClosing` as of a `Pass`.
    case renewing(RemoteSession, isClosing: Bool)
    /// `recorded` itself, or what has just taken its place.
    case asking(RemoteSession, recorded: RemoteSession, isClosing: Bool)
    /// It was about to be closed and is gone: the file may be there.
    case looking(RemoteSession, recorded: RemoteSession)
    /// One that holds what the gone one held, of which only the record tells.
    case succeeding, askingSuccessor(RemoteSession)
    /// One that holds what the session held that was lost in this attempt.
    case replacing, askingReplacement(RemoteSession)
    case new
    /// The server gave one that it had opened before.
    case askingReplayed(RemoteSession)
    case takingOver(RemoteSession)
  }

  /// How a session is replaced by another while the upload is under way.
  enum Renewal {
    case opening(old: RemoteSession)
    case asking(RemoteSession, old: RemoteSession)
    /// The new one holds nothing: whether the old one still does.
    case askingOld(RemoteSession, old: RemoteSession)
  }

  /// Chunks whose receipts speak against them are sent again once.
  enum Round { case first, again }

  struct Sending {
    let session: RemoteSession
    let round: Round
    var chunks: ChunkQueue
  }

  /// What one pass begins with.
  struct Pass {
    var needsSession: Bool
    /// The session on record.
    var session: RemoteSession?
    /// The request to close it may have been sent.
    var isClosing = false
    var size: Int64
    var abilities: UploadAbilities
  }

  enum Event {
    case begun
    /// What was to be done is done.
    case done
    case settled(TransferEnd)
    case checked(Pass)
    case opened(RemoteSession, isReplayed: Bool)
    /// What a session holds by its server's word; nil where it has none.
    case told(Result<SessionHoldings, Failure>?)
    case takenOver(HeldChunks, expiresAt: Double?)
    case held(ChunkRecord)
    /// A chunk needs no more requests; it took so long. Nil where it has failed for good.
    case sent(chunk: Int, seconds: Double?)
    /// The session was gone when a chunk's request had taken so long.
    case lost(seconds: Double)
    case expires(at: Double)
    case refuted([ChunkRecord])
    /// What the session does not hold as it was sent; nil where it can't be told chunk by chunk.
    case compared(lost: [ChunkRecord]?, isIncomplete: Bool)
    /// The file stands at the destination; nil where nothing shows that it is this one.
    case found(UploadedFile?)
    /// - session: the one on record.
    case failed(Failure, session: RemoteSession?)
    case stopped
  }

  enum Action {
    case settle
    case check
    case sendWhole
    /// Asks for a session, after so many were lost.
    case create(renewing: RemoteSession?, lost: Int)
    case ask(RemoteSession)
    case takeOver(SessionHoldings?, RemoteSession)
    case requireProof(RemoteSession)
    case send(RemoteSession, workers: Int)
    case judgeReceipts
    case prepareToClose(RemoteSession)
    case close(RemoteSession)
    /// Looks for the file that this upload has made.
    case look(RemoteSession?)
    case prove(UploadedFile)
    case compare(RemoteSession)
    case wait(Failure, lost: Int)
    case reopen
    case shrinkChunks
    case halveChunks
    case note(ProgressEvent)
    case save
    case drop([ChunkRecord])
    case warn(String)
    case end(RemoteSession)
    case abandon
    case forget(RestartReason)
  }

  struct Limits {
    var attempts: Int
    var chunksInFlight: Int
    /// A file that stands there is kept, and the upload skipped.
    var keepsExisting: Bool
    /// An earlier attempt has made the chunks smaller.
    var hadDamage: Bool
    var freshStarts: Int
  }

  /// A recorded session is renewed when it has less than this left, in seconds.
  private static let margin: Double = 60

  private(set) var phase = Phase.settling
  private(set) var held = HeldChunks()
  private let limits: Limits
  /// For messages.
  private let place: String
  private var size: Int64 = 0
  private var abilities = UploadAbilities(resumes: false, order: .any, emptyFile: .noChunks)
  private var clock = SessionClock()
  private var losses = SessionLosses()
  /// Chunks that the server lacked at the end, whatever it says when it is asked what it holds.
  private var missing: Set<Int> = []
  private var (repairs, freshStarts) = (0, 0)

  init(_ limits: Limits, place: String) {
    (self.limits, self.place, freshStarts) = (limits, place, limits.freshStarts)
  }

  /// Takes in what happened, and gives what is to be done, in this order; the last of it brings the next event.
  ///
  /// - Parameter now: seconds since 1970.
  mutating func handle(_ event: Event, at now: Double) -> [Action] {
    switch event {
    case .begun: return go(.settling, .settle)
    case .done: return done(now)
    case .settled(let end): return finish(end)
    case .checked(let pass): return begin(pass, now)
    case .opened(let session, let isReplayed):
      clock.opened(expiresAt: session.expiresAt, now: now)
      return opened(session, isReplayed: isReplayed, now)
    case .told(let holdings): return told(holdings, now)
    case .takenOver(let held, let expiresAt):
      guard case .opening(.takingOver(let session)) = phase else { return confused() }
      self.held = held
      clock.opened(expiresAt: expiresAt ?? session.expiresAt, now: now)
      return [.requireProof(session)] + dropMissing(session) + sendMissing(session, .first, now)
    case .held(let record):
      held.insert(record)
      return [.note(.held(contiguous: held.contiguous, chunks: wholeChunks))]
    case .sent(let chunk, let seconds):
      guard case .sending(var sending) = phase else { return [] }
      sending.chunks.end(chunk)
      phase = .sending(sending)
      if let seconds { clock.sent(seconds: seconds) }
      return []
    case .lost(let seconds):
      if case .sending = phase { clock.lost(seconds: seconds, now: now) }
      return []
    case .expires(let time):
      clock.moved(to: time)
      return [.note(.sessionExpires(at: time))]
    case .refuted(let chunks): return judge(chunks, now)
    case .compared(let lost, let isIncomplete): return compared(lost, isIncomplete)
    case .found(let file): return found(file)
    case .failed(let failure, let session): return failed(failure, session, now)
    case .stopped: return finish(.stopped)
    }
  }

  private mutating func done(_ now: Double) -> [Action] {
    switch phase {
    case .settling, .restarting: go(.checking(lost: nil), .check)
    case .waiting(let lost): go(.checking(lost: lost), .check)
    case .sending(let sending): sendMissing(sending.session, sending.round, now)
    case .finalizing(let session): go(.closing(session), .close(session))
    case .proving: finish(.finished)
    case .ended: []
    case .checking, .sendingWhole, .opening, .judging, .renewing, .closing, .looking, .repairing: confused()
    }
  }

  // MARK: Sessions

  private mutating func begin(_ pass: Pass, _ now: Double) -> [Action] {
    guard case .checking(let lost) = phase else { return confused() }
    (size, abilities) = (pass.size, pass.abilities)
    guard pass.needsSession else {
      let ends = pass.session == nil ? [] : [.abandon] + forget(.sessionGone)
      return ends + go(.sendingWhole, .sendWhole)
    }
    if let lost { return go(.opening(.replacing), create(lost)) }
    if let recorded = pass.session, recorded.chunkSize > 0 {
      // The new session holds what the old one held, if the server knows how.
      if abilities.renewsSessions, let expiry = recorded.expiresAt, expiry - now < Self.margin {
        return go(.opening(.renewing(recorded, isClosing: pass.isClosing)), create(recorded))
      }
      return go(
        .opening(.asking(recorded, recorded: recorded, isClosing: pass.isClosing)), .ask(recorded))
    }
    return openNew()
  }

  private func create(_ old: RemoteSession?) -> Action { .create(renewing: old, lost: losses.count) }

  private mutating func openNew() -> [Action] {
    (held, missing) = (HeldChunks(), [])
    return [.note(.onlyHeld(0))] + go(.opening(.new), create(nil))
  }

  private mutating func openNew(forgetting reason: RestartReason) -> [Action] { forget(reason) + openNew() }

  private mutating func opened(_ session: RemoteSession, isReplayed: Bool, _ now: Double) -> [Action] {
    switch phase {
    case .opening(.renewing(let old, let isClosing)):
      return go(.opening(.asking(session, recorded: old, isClosing: isClosing)), .ask(session))
    case .opening(.succeeding): return go(.opening(.askingSuccessor(session)), .ask(session))
    case .opening(.replacing): return go(.opening(.askingReplacement(session)), .ask(session))
    case .opening(.new) where isReplayed:
      // A create that was answered before, to an attempt that was killed, gives that session again.
      return [.requireProof(session)] + go(.opening(.askingReplayed(session)), .ask(session))
    case .opening(.new): return [.requireProof(session)] + sendMissing(session, .first, now)
    case .renewing(.opening(let old), let round):
      return go(.renewing(.asking(session, old: old), round), .ask(session))
    default: return confused()
    }
  }

  private mutating func told(_ word: Result<SessionHoldings, Failure>?, _ now: Double) -> [Action] {
    switch (phase, word) {
    case (.opening(.asking(let session, _, _)), nil):
      // Nobody but us can say what arrived.
      return abilities.resumes ? takeOver(nil, session) : openNew()
    case (.opening(.asking(let session, _, _)), .success(let holdings)?):
      guard let file = holdings.finished else { return takeOver(holdings, session) }
      return [.requireProof(session)] + go(.proving, .prove(file))
    case (.opening(.asking(let session, let recorded, let isClosing)), .failure(let failure)?):
      guard failure.class == .sessionGone else { return mend(failure, session) }
      // Stopped between the finalize and its record: the file may be there.
      if isClosing, session == recorded {
        return go(.opening(.looking(session, recorded: recorded)), .look(session))
      }
      return succeed(session, recorded)
    case (.opening(.askingSuccessor(let session)), .success(let holdings)?),
      (.opening(.askingReplayed(let session)), .success(let holdings)?):
      return takeOver(holdings, session)
    case (.opening(.askingReplacement(let session)), .success(let holdings)?):
      return keep(holdings, session) + [.requireProof(session)] + sendMissing(session, .first, now)
    case (.opening(.askingSuccessor), _), (.opening(.askingReplacement), _):
      return openNew(forgetting: .sessionGone)
    case (.opening(.askingReplayed(let session)), nil): return sendMissing(session, .first, now)
    case (.opening(.askingReplayed(let session)), .failure(let failure)?): return mend(failure, session)
    case (.renewing(.asking(let session, let old), let round), .success(let holdings)?):
      guard holdings.chunks.isEmpty, !held.isEmpty else { return renew(holdings, session, round, now) }
      return go(.renewing(.askingOld(session, old: old), round), .ask(old))
    case (.renewing(.asking(let session, _), _), _):
      return mend(
        Failure(.sessionExpired, "\(place) does not know the session that it has just opened"), session)
    case (.renewing(.askingOld(let session, let old), let round), .success(let known)?)
    where !known.chunks.isEmpty:
      // It began an empty one, and still has the other: that is of use until it ends.
      clock.refused()
      return [.end(session), .note(.session(old)), .save] + sendMissing(old, round, now)
    case (.renewing(.askingOld(let session, _), let round), _):
      return renew(SessionHoldings(), session, round, now)
    default: return confused()
    }
  }

  private mutating func takeOver(_ holdings: SessionHoldings?, _ session: RemoteSession) -> [Action] {
    go(.opening(.takingOver(session)), .takeOver(holdings, session))
  }

  /// The recorded session is gone: another one may hold what it held.
  private mutating func succeed(_ session: RemoteSession, _ recorded: RemoteSession) -> [Action] {
    let warning = Action.warn("the upload session of an earlier attempt is gone: a new one is opened")
    // One that only takes the file whole held nothing yet.
    guard abilities.resumes else { return openNew(forgetting: .sessionGone) }
    guard abilities.renewsSessions, session == recorded else {
      return [warning] + openNew(forgetting: .sessionGone)
    }
    return [warning] + go(.opening(.succeeding), create(recorded))
  }

  /// Drops what the server does not hold in a session that has taken the place of another.
  private mutating func keep(_ holdings: SessionHoldings, _ session: RemoteSession) -> [Action] {
    let layout = ChunkLayout(size: size, chunkSize: session.chunkSize)
    let lost = held.sorted.filter { record in
      let index = Int(record.offset / layout.chunkSize)
      return holdings.chunks[index] == nil || layout.range(index) != record.range
    }
    held.remove(lost)
    losses.replaced(holding: held.bytes)
    return [.drop(lost)]
  }

  private mutating func renew(
    _ holdings: SessionHoldings, _ session: RemoteSession, _ round: Round, _ now: Double
  ) -> [Action] {
    let before = held.bytes
    let drops = keep(holdings, session)
    if held.bytes < before { losses.add() }
    guard held.bytes >= before || losses.count < limits.attempts else {
      return drops
        + finish(
          .failed(
            Failure(
              .sessionExpired, "\(place) loses chunks each time that a session is renewed", class: .permanent)
          ))
    }
    return drops + sendMissing(session, round, now)
  }

  // MARK: Chunks

  /// What is on its way goes to the end first: no chunk crosses a renewal, and none is sent twice for it.
  private func mustRenew(_ now: Double) -> Bool { abilities.renewsSessions && clock.isDue(now) }

  private mutating func sendMissing(_ session: RemoteSession, _ round: Round, _ now: Double) -> [Action] {
    let layout = ChunkLayout(size: size, chunkSize: session.chunkSize)
    let missing = held.missing(layout, emptyFile: abilities.emptyFile)
    let laidOut = ProgressEvent.laidOut(
      chunks: max(layout.count, abilities.emptyFile == .oneEmptyChunk ? 1 : 0))
    let workers = clock.workers(of: abilities.isParallel ? min(limits.chunksInFlight, missing.count) : 1)
    let next =
      if missing.isEmpty {
        go(.judging(session, round), .judgeReceipts)
      } else if mustRenew(now) {
        go(.renewing(.opening(old: session), round), create(session))
      } else {
        go(
          .sending(Sending(session: session, round: round, chunks: ChunkQueue(missing))),
          .send(session, workers: workers))
      }
    return [.note(laidOut), .save] + next
  }

  /// Bytes of the chunk that a worker sends next; nil where there is none now.
  func nextSize(at now: Double) -> Int64? {
    guard case .sending(let sending) = phase, !mustRenew(now) else { return nil }
    return sending.chunks.first.map { Int64($0.range.count) }
  }

  /// The chunk that a worker sends next.
  mutating func nextChunk(at now: Double) -> UploadChunk? {
    guard case .sending(var sending) = phase, !mustRenew(now), let chunk = sending.chunks.takeFirst() else {
      return nil
    }
    phase = .sending(sending)
    return chunk
  }

  /// Those on their way, then those that are sent next.
  var comingChunks: [Int] {
    guard case .sending(let sending) = phase else { return [] }
    return sending.chunks.coming(abilities.partURLBatch)
  }

  private var wholeChunks: Int {
    guard case .sending(let sending) = phase else {
      return held.wholeChunks(ChunkLayout(size: size, chunkSize: size), order: .any)
    }
    return held.wholeChunks(
      ChunkLayout(size: size, chunkSize: sending.session.chunkSize), order: abilities.order)
  }

  /// Judges what is held by the receipts that speak against it.
  private mutating func judge(_ refuted: [ChunkRecord], _ now: Double) -> [Action] {
    guard case .judging(let session, let round) = phase else { return confused() }
    guard let bad = refuted.first else { return go(.finalizing(session), .prepareToClose(session)) }
    switch round {
    case .first:
      held.remove(refuted)
      return [
        .warn("\(refuted.count) chunks arrived with other bytes, by their receipts, and are sent again"),
        .drop(refuted),
      ] + sendMissing(session, .again, now)
    case .again:
      return mend(
        Failure(
          .integrityMismatch, "\(place) took bytes from \(bad.offset) with another digest, twice",
          expected: bad.digest, actual: bad.receipt), session)
    }
  }

  private mutating func found(_ file: UploadedFile?) -> [Action] {
    switch (phase, file) {
    case (.opening(.looking(let session, _)), let file?):
      return [.requireProof(session)] + go(.proving, .prove(file))
    case (.opening(.looking(let session, let recorded)), nil): return succeed(session, recorded)
    // The only request's body arrived, and its answer was lost.
    case (.looking(nil, _), let file?): return [.note(.regained(size))] + go(.proving, .prove(file))
    case (.sendingWhole, let file?), (.finalizing, let file?), (.closing, let file?), (.looking, let file?):
      return go(.proving, .prove(file))
    case (.looking(let session, let failure), nil): return mend(failure, session)
    default: return confused()
    }
  }

  // MARK: Failures

  private mutating func failed(_ failure: Failure, _ session: RemoteSession?, _ now: Double) -> [Action] {
    let isGone = failure.class == .sessionGone
    switch phase {
    case .opening(.renewing) where isGone: return openNew(forgetting: .sessionGone)
    case .opening(.succeeding) where !Self.passes(failure): return openNew(forgetting: .sessionGone)
    case .opening(.replacing) where isGone: return openNew(forgetting: .sessionGone)
    case .renewing(.opening(let old), let round) where isGone || failure.isClientError:
      // As it was: the server will not, or does not know how.
      clock.refused()
      return sendMissing(old, round, now)
    case .closing(let session) where isGone || failure.code == .destinationExists:
      // What stands there may be this very upload: an earlier try ended it, and only its answer was lost.
      return go(.looking(session, after: failure), .look(session))
    case .sendingWhole where failure.code == .destinationExists:
      return go(.looking(session, after: failure), .look(nil))
    case .checking, .sendingWhole, .opening, .sending, .judging, .renewing, .finalizing, .closing, .looking,
      .proving:
      return mend(failure, session)
    case .settling, .waiting, .repairing, .restarting: return giveUp(failure)
    case .ended: return []
    }
  }

  /// Says nothing of what the server does at another time. One that answers 500, or what makes no sense, may do so to this
  /// request each time.
  private static func passes(_ failure: Failure) -> Bool {
    switch failure.class {
    case .transient: failure.httpStatus != 500 && failure.code != .protocolViolation
    case .deferred, .credentialExpired: true
    case .sessionGone, .objectChanged, .rangesUnserved, .sourceChanged, .damaged, .denied, .permanent: false
    }
  }

  private mutating func mend(_ failure: Failure, _ session: RemoteSession?) -> [Action] {
    switch failure.class {
    case .sessionGone: return openAnother(after: failure, session)
    // At either end: the source, or what a server had when the session was opened.
    case .sourceChanged, .objectChanged:
      guard freshStarts == 0 else { return giveUp(failure) }
      freshStarts = 1
      return [
        .note(.startedAfresh(times: 1)), .warn("\(failure.message): a new session is opened"), .abandon,
      ] + forget(.contentChanged) + go(.restarting, .reopen)
    case .damaged:
      repairs += 1
      let warning = Action.warn(diagnosis(failure, session))
      guard repairs <= 2 else { return [warning] + giveUp(failure) }
      guard repairs == 1, let session else { return [warning] + startSmaller(after: failure) }
      return [warning] + go(.repairing(failure), .compare(session))
    case .transient, .deferred, .credentialExpired, .rangesUnserved, .denied, .permanent:
      return giveUp(failure)
    }
  }

  /// Opens another session in place of one that is gone, or that can't be completed. Where its successor may hold the same,
  /// the gone one stays on record until that is open: a later attempt asks for it, too.
  private mutating func openAnother(after failure: Failure, _ session: RemoteSession?) -> [Action] {
    losses.add()
    guard losses.count < limits.attempts else { return giveUp(failure) }
    let isDamaged = failure.code == .integrityMismatch
    let reason =
      if let limit = failure.chunkLimit {
        "the server takes chunks of \(limit) bytes at most: a new session is opened"
      } else if isDamaged {
        "the server can't replace a part that it took damaged: a new upload is opened"
      } else {
        "the server no longer knows the upload session: a new one is opened"
      }
    var actions = [Action.warn(reason)]
    var lost: RemoteSession?
    if !isDamaged, failure.isGoneThere, abilities.renewsSessions {
      lost = session
      // Chunks of another size can't be what a session holds already.
      if clock.wantsSmallerChunks, held.isEmpty { actions.append(.halveChunks) }
    } else {
      // One that the server knows and will not have takes room there until it is ended.
      if !failure.isGoneThere { actions.append(.abandon) }
      actions += forget(.sessionGone)
    }
    return actions + go(.waiting(lost: lost), .wait(failure, lost: losses.count))
  }

  /// After a mismatch, what the server does not hold as it was sent.
  private mutating func compared(_ lost: [ChunkRecord]?, _ isIncomplete: Bool) -> [Action] {
    guard case .repairing(let failure) = phase else { return confused() }
    held.remove(lost ?? [])
    let drops = lost.map { [Action.drop($0)] } ?? []
    missing = Set(failure.missingChunks)
    // A server that lacked chunks at the end, and has them all now, is asked to close once more.
    let mayClose = failure.code == .integrityMismatch && failure.httpStatus == 409
    guard let lost, isIncomplete || mayClose || !lost.isEmpty || !missing.isEmpty else {
      return drops + startSmaller(after: failure)
    }
    return drops + go(.checking(lost: nil), .check)
  }

  /// What the server says that it holds, and lacked at the end.
  private mutating func dropMissing(_ session: RemoteSession) -> [Action] {
    guard !missing.isEmpty else { return [] }
    let lost = held.sorted.filter { missing.contains(Int($0.offset / max(1, session.chunkSize))) }
    missing = []
    held.remove(lost)
    return [.drop(lost)]
  }

  /// Everything once more, in smaller chunks.
  private mutating func startSmaller(after failure: Failure) -> [Action] {
    guard repairs == 1 || !limits.hadDamage else { return giveUp(failure) }
    repairs = 2
    return [.shrinkChunks, .abandon] + forget(.damaged) + go(.restarting, .reopen)
  }

  private func diagnosis(_ failure: Failure, _ session: RemoteSession?) -> String {
    let chunks = held.sorted
    let size = max(1, session?.chunkSize ?? size)
    let named = chunks.prefix(32).map { "\($0.offset / size):\($0.digest)" }.joined(separator: " ")
    let more = chunks.count > 32 ? " and \(chunks.count - 32) more" : ""
    return
      "\(failure.message); expected \(failure.expected ?? "?"), server \(failure.actual ?? "?"); chunks \(named)\(more)"
  }

  private mutating func forget(_ reason: RestartReason) -> [Action] {
    held = HeldChunks()
    return [.forget(reason)]
  }

  // MARK: Ends

  private mutating func giveUp(_ failure: Failure) -> [Action] {
    guard failure.code == .destinationExists, limits.keepsExisting else { return finish(.failed(failure)) }
    // It came to be there while the upload was under way.
    return [.abandon] + forget(.givenUp) + finish(.skipped(.exists))
  }

  private mutating func finish(_ end: TransferEnd) -> [Action] {
    phase = .ended(end)
    return []
  }

  private mutating func go(_ next: Phase, _ action: Action) -> [Action] {
    phase = next
    return [action]
  }

  /// An event that its phase knows nothing of.
  private mutating func confused() -> [Action] {
    finish(.failed(Failure(.internal, "an upload was told of what it had not asked for")))
  }
}
