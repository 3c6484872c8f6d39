import Endpoints
import JobModel
import Testing

@testable import Transfers

/// What an upload does next, cell by cell: phases across, events down.
struct UploadMachineTests {
  private static let session = RemoteSession(id: "s", chunkSize: 10)
  private static let other = RemoteSession(id: "n", chunkSize: 10)
  private static let gone = Failure(.sessionExpired, "gone", httpStatus: 404)
  private static let refused = Failure(.sessionExpired, "not here")
  private static let damaged = Failure(.integrityMismatch, "damaged")
  private static let file = UploadedFile(remoteID: "f")

  private static let abilities = UploadAbilities(
    resumes: true, order: .any, renewsSessions: true, emptyFile: .noChunks)

  private static func failed(
    _ failure: Failure, _ session: RemoteSession? = session
  ) -> UploadMachine.Event {
    .failed(failure, session: session)
  }

  private static func pass(
    _ session: RemoteSession? = nil, needsSession: Bool = true, size: Int64 = 30,
    _ abilities: UploadAbilities = abilities, isClosing: Bool = false
  ) -> UploadMachine.Event {
    .checked(
      .init(
        needsSession: needsSession, session: session, isClosing: isClosing, size: size, abilities: abilities))
  }

  private static func holds(_ chunks: Int...) -> UploadMachine.Event {
    .told(
      .success(SessionHoldings(chunks: Dictionary(uniqueKeysWithValues: chunks.map { ($0, HeldChunk()) }))))
  }

  private static func chunk(_ index: Int64) -> ChunkRecord {
    ChunkRecord(offset: index * 10, length: 10, digest: "d\(index)", receipt: "r")
  }

  /// A machine that these events have happened to, and what it said to the last of them.
  private struct Run {
    var machine: UploadMachine
    var actions: [String] = []

    init(
      attempts: Int = 3, keeps: Bool = false, hadDamage: Bool = false, freshStarts: Int = 0,
      _ events: [UploadMachine.Event]
    ) {
      machine = UploadMachine(
        .init(
          attempts: attempts, chunksInFlight: 2, keepsExisting: keeps, hadDamage: hadDamage,
          freshStarts: freshStarts), place: "there")
      tell([.begun] + events)
    }

    mutating func tell(_ events: [UploadMachine.Event], at now: Double = 1000) {
      for event in events { actions = machine.handle(event, at: now).map(UploadMachineTests.word) }
    }

    var phase: String { UploadMachineTests.word(machine.phase) }
  }

  private static func word(_ phase: UploadMachine.Phase) -> String {
    switch phase {
    case .ended(.failed(let failure)): "failed \(failure.code.rawValue)"
    case .ended(.finished): "finished"
    case .ended(.skipped): "skipped"
    case .ended(.settled): "settled"
    case .ended(.stopped): "stopped"
    case .waiting(let lost): "waiting for \(lost?.id ?? "none")"
    case .settling, .checking, .sendingWhole, .opening, .sending, .judging, .renewing, .finalizing, .closing,
      .looking, .proving, .repairing, .restarting:
      String("\(phase)".prefix { $0 != "(" })
    }
  }

  private static func word(_ action: UploadMachine.Action) -> String {
    switch action {
    case .create(let old, let lost): "create from \(old?.id ?? "none") after \(lost)"
    case .ask(let session): "ask \(session.id)"
    case .takeOver(let holdings, let session): "take over \(session.id) \(holdings == nil ? "by us" : "")"
    case .send(let session, let workers): "send in \(session.id) by \(workers)"
    case .look(let session): "look \(session?.id ?? "none")"
    case .note(.onlyHeld): "held nothing"
    case .note(.session(let session)): "go on with \(session?.id ?? "none")"
    case .note(let event): String("\(event)".prefix { $0 != "(" })
    case .drop(let lost): "drop \(lost.map { $0.offset / 10 })"
    case .end(let session): "end \(session.id)"
    case .forget(let reason): "forget \(reason)"
    case .settle, .check, .sendWhole, .requireProof, .judgeReceipts, .prepareToClose, .close, .prove,
      .compare,
      .wait, .reopen, .shrinkChunks, .halveChunks, .save, .warn, .abandon:
      String("\(action)".prefix { $0 != "(" })
    }
  }

  /// Ways to phases that many tests begin in.
  private static let sending: [UploadMachine.Event] = [.done, pass(), .opened(session, isReplayed: false)]
  private static let allHeld = sending + [.held(chunk(0)), .held(chunk(1)), .held(chunk(2)), .done]
  private static let closing = allHeld + [.refuted([]), .done]
  private static let proving = closing + [.found(file)]

  @Test func straightOn() {
    var run = Run([])
    #expect(run.actions == ["settle"] && run.phase == "settling")
    for (event, actions, phase) in [
      (.done, ["check"], "checking"),
      (Self.pass(), ["held nothing", "create from none after 0"], "opening"),
      (
        .opened(Self.session, isReplayed: false), ["requireProof", "laidOut", "save", "send in s by 2"],
        "sending"
      ),
      (.held(Self.chunk(0)), ["held"], "sending"), (.held(Self.chunk(1)), ["held"], "sending"),
      (.held(Self.chunk(2)), ["held"], "sending"),
      (.done, ["laidOut", "save", "judgeReceipts"], "judging"),
      (.refuted([]), ["prepareToClose"], "finalizing"),
      (.done, ["close"], "closing"), (.found(Self.file), ["prove"], "proving"), (.done, [], "finished"),
    ] as [(UploadMachine.Event, [String], String)] {
      run.tell([event])
      #expect(run.actions == actions && run.phase == phase)
    }
  }

  @Test func withoutASession() {
    var run = Run([.done, Self.pass(needsSession: false)])
    #expect(run.actions == ["sendWhole"])
    run.tell([.found(Self.file)])
    #expect(run.actions == ["prove"])
    // One that an earlier attempt has opened is of no use.
    #expect(
      Run([.done, Self.pass(Self.session, needsSession: false)]).actions
        == ["abandon", "forget sessionGone", "sendWhole"])
    let exists = Failure(.destinationExists, "exists")
    run = Run([.done, Self.pass(needsSession: false), Self.failed(exists, nil)])
    #expect(run.actions == ["look none"])
    run.tell([.found(nil)])
    #expect(run.phase == "failed DESTINATION_EXISTS")
    run = Run([.done, Self.pass(needsSession: false), Self.failed(exists, nil), .found(Self.file)])
    #expect(run.phase == "proving" && run.actions == ["regained", "prove"])
  }

  @Test func settled() {
    #expect(Run([.settled(.settled(nil))]).phase == "settled")
    #expect(Run([Self.failed(Self.damaged)]).phase == "failed INTEGRITY_MISMATCH", "nothing is mended yet")
    #expect(Run([.stopped]).phase == "stopped" && Run(Self.sending + [.stopped]).phase == "stopped")
  }

  // MARK: The session on record

  @Test(
    arguments: [
      // It lives: what it holds is taken over.
      (Self.holds(0), ["take over s "], "opening"), (.told(nil), ["take over s by us"], "opening"),
      (.told(.success(SessionHoldings(finished: Self.file))), ["requireProof", "prove"], "proving"),
      // It is gone: another one may hold the same.
      (.told(.failure(Self.gone)), ["warn", "create from s after 0"], "opening"),
      // It can't be asked.
      (.told(.failure(Failure(.serverError, "busy"))), [], "failed SERVER_ERROR"),
      (Self.failed(Failure(.forbidden, "no")), [], "failed FORBIDDEN"),
    ] as [(UploadMachine.Event, [String], String)])
  func recorded(_ event: UploadMachine.Event, _ actions: [String], _ phase: String) {
    var run = Run([.done, Self.pass(Self.session)])
    #expect(run.actions == ["ask s"])
    run.tell([event])
    #expect(run.actions == actions && run.phase == phase)
  }

  @Test func whatCantBeGoneOnWith() {
    let once = UploadAbilities(resumes: false, order: .any, emptyFile: .noChunks)
    let new = ["held nothing", "create from none after 0"]
    #expect(Run([.done, Self.pass(Self.session, once), .told(nil)]).actions == new)
    let refused = UploadMachine.Event.told(.failure(Self.gone))
    #expect(Run([.done, Self.pass(Self.session, once), refused]).actions == ["forget sessionGone"] + new)
    #expect(Run([.done, Self.pass(RemoteSession(id: "s", chunkSize: 0))]).actions == new)
  }

  @Test func takenOver() {
    let held = HeldChunks([Self.chunk(1)])
    var run = Run([.done, Self.pass(Self.session), Self.holds(1), .takenOver(held, expiresAt: nil)])
    #expect(run.actions == ["requireProof", "laidOut", "save", "send in s by 2"])
    #expect(run.machine.nextChunk(at: 1000)?.index == 0 && run.machine.nextChunk(at: 1000)?.index == 2)
    #expect(run.machine.nextChunk(at: 1000) == nil)
  }

  @Test func aRecordedSessionNearItsEnd() {
    var old = Self.session
    old.expiresAt = 1059
    var run = Run([.done, Self.pass(old)])
    #expect(run.actions == ["create from s after 0"])
    run.tell([.opened(Self.other, isReplayed: false)])
    #expect(run.actions == ["ask n"])
    // The new one is gone at once: nothing else is asked to hold what it held.
    run.tell([.told(.failure(Self.gone))])
    #expect(run.actions == ["warn", "forget sessionGone", "held nothing", "create from none after 0"])
    // Whether the recorded one was being closed says nothing of the new one.
    run = Run([.done, Self.pass(old, isClosing: true), .opened(Self.other, isReplayed: false)])
    run.tell([.told(.failure(Self.gone))])
    #expect(run.actions == ["warn", "forget sessionGone", "held nothing", "create from none after 0"])
    run = Run([.done, Self.pass(old), Self.failed(Self.gone)])
    #expect(run.actions == ["forget sessionGone", "held nothing", "create from none after 0"])
    old.expiresAt = 1061
    #expect(Run([.done, Self.pass(old)]).actions == ["ask s"])
  }

  @Test func aSuccessorOfTheRecordedOne() {
    let asked: [UploadMachine.Event] = [
      .done, Self.pass(Self.session, isClosing: true), .told(.failure(Self.gone)), .found(nil),
    ]
    let looking = Run(asked.dropLast())
    #expect(looking.actions == ["look s"] && looking.phase == "opening", "the file may be there")
    #expect(Run(asked).actions == ["warn", "create from s after 0"])
    #expect(Run(asked.dropLast() + [.found(Self.file)]).actions == ["requireProof", "prove"])
    let opened = asked + [.opened(Self.other, isReplayed: false)]
    #expect(Run(opened).actions == ["ask n"] && Run(opened + [Self.holds()]).actions == ["take over n "])
    let new = ["forget sessionGone", "held nothing", "create from none after 0"]
    #expect(Run(opened + [.told(nil)]).actions == new)
    for failure in [
      Self.gone, Failure(.protocolViolation, "no", httpStatus: 400),
      Failure(.serverError, "fails at it", httpStatus: 500),
    ] {
      #expect(Run(asked + [Self.failed(failure)]).actions == new)
    }
    // What passes leaves the recorded one for a later attempt.
    for failure in [
      Failure(.serverError, "busy", httpStatus: 503), Failure(.networkUnreachable, "away"),
    ] {
      let run = Run(asked + [Self.failed(failure)])
      #expect(run.actions == [] && run.phase == "failed \(failure.code.rawValue)")
    }
  }

  @Test func aReplayedCreate() {
    let asked: [UploadMachine.Event] = [.done, Self.pass(), .opened(Self.session, isReplayed: true)]
    #expect(Run(asked).actions == ["requireProof", "ask s"])
    #expect(Run(asked + [Self.holds(0)]).actions == ["take over s "])
    #expect(Run(asked + [.told(nil)]).phase == "sending")
    #expect(Run(asked + [.told(.failure(Self.gone))]).phase == "waiting for s")
  }

  // MARK: Chunks

  @Test func whatIsSentNext() {
    var run = Run([.done, Self.pass(size: 95), .opened(Self.session, isReplayed: false)])
    #expect(run.actions.last == "send in s by 2")
    #expect(run.machine.nextChunk(at: 1000) == UploadChunk(index: 0, range: 0..<10))
    #expect(run.machine.nextChunk(at: 1000) == UploadChunk(index: 1, range: 10..<20))
    #expect(run.machine.comingChunks == [0, 1, 2])
    run.tell([.held(Self.chunk(0)), .sent(chunk: 0, seconds: 1)])
    #expect(run.machine.comingChunks == [1, 2])
    run.tell([.sent(chunk: 1, seconds: nil)])
    #expect(run.machine.comingChunks == [2], "nobody waits for one that has failed")
    // What was left, once all workers have come back.
    run.tell([.done])
    #expect(run.actions == ["laidOut", "save", "send in s by 2"])
    #expect(run.machine.nextChunk(at: 1000)?.index == 1)
  }

  @Test func oneAfterTheOther() {
    let serial = UploadAbilities(resumes: true, order: .sequential, emptyFile: .oneEmptyChunk)
    let opened = UploadMachine.Event.opened(Self.session, isReplayed: false)
    #expect(Run([.done, Self.pass(nil, serial), opened]).actions.last == "send in s by 1")
    #expect(Run([.done, Self.pass(nil, size: 0, serial), opened]).actions.last == "send in s by 1")
    #expect(Run([.done, Self.pass(size: 0), opened]).phase == "judging", "nothing has to be sent")
  }

  @Test func receiptsThatSpeakAgainstChunks() {
    var run = Run(Self.allHeld + [.refuted([Self.chunk(1)])])
    #expect(run.actions == ["warn", "drop [1]", "laidOut", "save", "send in s by 1"])
    #expect(run.machine.nextChunk(at: 1000)?.index == 1)
    run.tell([.held(Self.chunk(1)), .done, .refuted([Self.chunk(1)])])
    #expect(run.phase == "repairing" && run.actions == ["warn", "compare"])
  }

  // MARK: Renewal

  private static let dying = RemoteSession(id: "s", chunkSize: 10, expiresAt: 1100)
  /// One chunk is held, and the session is due.
  private static func renewing(_ events: [UploadMachine.Event], attempts: Int = 3) -> Run {
    var run = Run(
      attempts: attempts,
      [.done, pass(), .opened(dying, isReplayed: false), .held(chunk(0)), .sent(chunk: 0, seconds: 1)])
    run.tell([.done] + events, at: 1090)
    return run
  }

  @Test func aSessionThatIsDue() {
    var run = Run([.done, Self.pass(), .opened(Self.dying, isReplayed: false), .sent(chunk: 0, seconds: 1)])
    #expect(run.machine.nextChunk(at: 1090) == nil && run.machine.nextChunk(at: 1000) != nil)
    #expect(Self.renewing([]).actions == ["laidOut", "save", "create from s after 0"])
    run.tell([.expires(at: 9000), .done], at: 1090)
    #expect(run.phase == "sending", "the server has moved its end")
  }

  @Test(
    arguments: [
      ([Self.holds(0)], ["drop []", "laidOut", "save", "send in n by 2"], "sending"),
      ([Self.holds(1)], ["drop [0]", "laidOut", "save", "send in n by 2"], "sending"),
      ([.told(nil)], ["warn", "forget sessionGone"], "waiting for none"),
      ([Self.holds()], ["ask s"], "renewing"),
      // An empty one beside one that still holds all.
      (
        [Self.holds(), Self.holds(0)],
        ["end n", "go on with s", "save", "laidOut", "save", "send in s by 2"],
        "sending"
      ),
      ([Self.holds(), Self.holds()], ["drop [0]", "laidOut", "save", "send in n by 2"], "sending"),
    ] as [([UploadMachine.Event], [String], String)])
  func renewed(_ events: [UploadMachine.Event], _ actions: [String], _ phase: String) {
    let run = Self.renewing([.opened(Self.other, isReplayed: false)] + events)
    #expect(run.phase == phase)
    if phase != "waiting for none" { #expect(run.actions == actions) }
  }

  @Test func whatWillNotBeRenewed() {
    for failure in [Self.gone, Failure(.protocolViolation, "no", httpStatus: 400)] {
      #expect(Self.renewing([Self.failed(failure)]).actions.last == "send in s by 2")
    }
    #expect(
      Self.renewing([Self.failed(Failure(.serverError, "busy", httpStatus: 503))]).phase
        == "failed SERVER_ERROR")
    let losing = Self.renewing([.opened(Self.other, isReplayed: false), Self.holds(2)], attempts: 1)
    #expect(losing.phase == "failed SESSION_EXPIRED" && losing.actions == ["drop [0]"])
  }

  // MARK: Failures

  @Test(
    arguments: [
      (Self.gone, ["warn", "wait"], "waiting for s"),
      (Self.refused, ["warn", "abandon", "forget sessionGone", "wait"], "waiting for none"),
      (
        Failure(.integrityMismatch, "torn", class: .sessionGone),
        ["warn", "abandon", "forget sessionGone", "wait"], "waiting for none"
      ),
      (
        Failure(.sourceChanged, "changed"),
        ["startedAfresh", "warn", "abandon", "forget contentChanged", "reopen"], "restarting"
      ),
      (
        Failure(.remoteChanged, "stale", class: .objectChanged),
        ["startedAfresh", "warn", "abandon", "forget contentChanged", "reopen"], "restarting"
      ),
      (Self.damaged, ["warn", "compare"], "repairing"),
      (Failure(.chunkConflict, "conflict"), ["warn", "compare"], "repairing"),
      (Failure(.networkUnreachable, "away"), [], "failed NETWORK_UNREACHABLE"),
      (Failure(.diskFull, "full"), [], "failed DISK_FULL"),
      (Failure(.unauthorized, "who"), [], "failed UNAUTHORIZED"),
      (Failure(.forbidden, "no"), [], "failed FORBIDDEN"),
      (Failure(.typeMismatch, "no"), [], "failed TYPE_MISMATCH"),
      (Failure(.destinationExists, "there"), [], "failed DESTINATION_EXISTS"),
    ] as [(Failure, [String], String)])
  func mending(_ failure: Failure, _ actions: [String], _ phase: String) {
    for way in [Self.sending, Self.allHeld, Self.allHeld + [.refuted([])], Self.proving] {
      let run = Run(way + [Self.failed(failure)])
      #expect(run.actions == actions && run.phase == phase)
    }
  }

  @Test func aFileThatIsKept() {
    let exists = Self.failed(Failure(.destinationExists, "there"))
    #expect(Run(keeps: true, Self.sending + [exists]).actions == ["abandon", "forget givenUp"])
    #expect(Run(keeps: true, Self.sending + [exists]).phase == "skipped")
    #expect(Run(keeps: true, [exists]).phase == "skipped")
  }

  /// Only the answer to the closing request may be lost.
  @Test func closingThatFails() {
    let exists = Failure(.destinationExists, "there")
    for failure in [exists, Self.gone] {
      var run = Run(Self.closing + [Self.failed(failure)])
      #expect(run.actions == ["look s"])
      run.tell([.found(nil)])
      #expect(run.phase == (failure == exists ? "failed DESTINATION_EXISTS" : "waiting for s"))
      #expect(Run(Self.closing + [Self.failed(failure), .found(Self.file)]).phase == "proving")
    }
    #expect(Run(Self.closing + [Self.failed(Self.damaged)]).phase == "repairing")
    #expect(Run(Self.allHeld + [.refuted([]), .found(Self.file)]).actions == ["prove"])
  }

  @Test func aLostSession() {
    let lost = Self.sending + [.held(Self.chunk(0)), Self.failed(Self.gone), .done]
    #expect(Run(lost).actions == ["check"])
    #expect(Run(lost + [Self.pass()]).actions == ["create from s after 1"])
    #expect(
      Run(lost + [Self.pass(Self.session)]).actions == ["create from s after 1"], "on record")
    let asked = lost + [Self.pass(), .opened(Self.other, isReplayed: false)]
    #expect(Run(asked).actions == ["ask n"])
    let kept = Run(asked + [Self.holds(0)])
    #expect(kept.actions == ["drop []", "requireProof", "laidOut", "save", "send in n by 2"])
    #expect(!kept.machine.held.isEmpty)
    let new = ["forget sessionGone", "held nothing", "create from none after 1"]
    #expect(Run(asked + [.told(nil)]).actions == new)
    #expect(Run(lost + [Self.pass(), Self.failed(Self.gone)]).actions == new)
  }

  /// Chunks that share a slow line take longer than the session lives: fewer are sent at once, and at last smaller ones.
  @Test func sessionsThatAreTooShort() {
    let again: [UploadMachine.Event] = [
      .lost(seconds: 8), Self.failed(Self.gone), .done, Self.pass(), .opened(Self.other, isReplayed: false),
      Self.holds(),
    ]
    var run = Run(attempts: 8, Self.sending)
    #expect(run.actions.last == "send in s by 2")
    run.tell(again, at: 1008)
    #expect(run.actions.last == "send in n by 1")
    run.tell(again, at: 1016)
    #expect(run.actions.last == "send in n by 1")
    run.tell([again[0], again[1]], at: 1024)
    #expect(run.actions == ["warn", "halveChunks", "wait"])
    run.tell(Array(again.dropFirst(2)), at: 1024)
    #expect(run.actions.last == "send in n by 1")
    // What it holds already is worth more than chunks that would fit better.
    run.tell([.held(Self.chunk(0)), again[0], again[1]], at: 1032)
    #expect(run.actions == ["warn", "wait"])
    // Where the session is gone before most of its life has passed in a chunk's request, nothing is learnt.
    run = Run(attempts: 8, Self.sending)
    let early: [UploadMachine.Event] = [.lost(seconds: 3)]
    run.tell(early + Array(again.dropFirst()), at: 1008)
    #expect(run.actions.last == "send in n by 2")
  }

  @Test func sessionsAreLostOnlySoOften() {
    let again: [UploadMachine.Event] = [
      Self.failed(Self.refused), .done, Self.pass(), .opened(Self.session, isReplayed: false),
    ]
    #expect(Run(attempts: 3, Self.sending + again + again).phase == "sending")
    #expect(
      Run(attempts: 3, Self.sending + again + again + again.prefix(1)).phase == "failed SESSION_EXPIRED")
    // One that got further than those before it was of use.
    let replaced: [UploadMachine.Event] = [
      Self.failed(Self.gone), .done, Self.pass(), .opened(Self.other, isReplayed: false), Self.holds(0),
    ]
    let further = Self.sending + again + [.held(Self.chunk(0))] + replaced
    #expect(Run(attempts: 3, further).phase == "sending")
    #expect(Run(attempts: 3, further + again + again).phase == "sending")
    // What fails while another is waited for ends the upload.
    #expect(
      Run(Self.sending + [Self.failed(Self.refused), Self.failed(Self.gone)]).phase
        == "failed SESSION_EXPIRED")
  }

  @Test func aSourceThatChangesTwice() {
    let changed = Self.failed(Failure(.sourceChanged, "changed"))
    #expect(Run(freshStarts: 1, Self.sending + [changed]).phase == "failed SOURCE_CHANGED")
    let again: [UploadMachine.Event] = [
      changed, .done, Self.pass(), .opened(Self.session, isReplayed: false), changed,
    ]
    #expect(Run(Self.sending + again).phase == "failed SOURCE_CHANGED")
    #expect(Run(Self.sending + [changed, .done]).actions == ["check"])
    #expect(
      Run(Self.sending + [changed, Self.failed(Failure(.sourceMissing, "gone"))]).phase
        == "failed SOURCE_MISSING")
  }

  @Test func damage() {
    let smaller = ["shrinkChunks", "abandon", "forget damaged", "reopen"]
    let damaged = Self.proving + [Self.failed(Self.damaged)]
    // What the server does not hold as it was sent goes again.
    var run = Run(damaged + [.compared(lost: [Self.chunk(1)], isIncomplete: false)])
    #expect(run.actions == ["drop [1]", "check"] && run.machine.held[10] == nil)
    run = Run(damaged + [.compared(lost: [], isIncomplete: true)])
    #expect(run.actions == ["drop []", "check"])
    // Also what it lacked at the end, and says that it holds.
    var lacking = Self.damaged
    lacking.missingChunks = [1]
    run = Run(Self.closing + [Self.failed(lacking), .compared(lost: [], isIncomplete: false)])
    #expect(run.actions == ["drop []", "check"])
    let all = HeldChunks([Self.chunk(0), Self.chunk(1), Self.chunk(2)])
    run.tell([Self.pass(Self.session), Self.holds(0, 1, 2), .takenOver(all, expiresAt: nil)])
    #expect(run.actions == ["requireProof", "drop [1]", "laidOut", "save", "send in s by 1"])
    #expect(run.machine.nextChunk(at: 1000)?.index == 1)
    // It lacked some, says not which, and has all: closed once more.
    let late = Failure(.integrityMismatch, "CHUNKS_MISSING", httpStatus: 409)
    run = Run(Self.closing + [Self.failed(late), .compared(lost: [], isIncomplete: false)])
    #expect(run.actions == ["drop []", "check"])
    run.tell([Self.pass(Self.session), Self.holds(0, 1, 2), .takenOver(all, expiresAt: nil)])
    #expect(run.actions == ["requireProof", "laidOut", "save", "judgeReceipts"])
    // Where that is nothing, or can't be told, all goes again, in smaller chunks.
    #expect(Run(damaged + [.compared(lost: [], isIncomplete: false)]).actions == ["drop []"] + smaller)
    #expect(Run(damaged + [.compared(lost: nil, isIncomplete: false)]).actions == smaller)
    #expect(Run(Self.proving + [Self.failed(Self.damaged, nil)]).actions == ["warn"] + smaller)
    // The second time that is the only way, and there is no third one.
    let sent: [UploadMachine.Event] = [
      Self.pass(), .opened(Self.session, isReplayed: false), Self.failed(Self.damaged),
    ]
    let again = damaged + [.compared(lost: [Self.chunk(1)], isIncomplete: false)] + sent
    #expect(Run(again).actions == ["warn"] + smaller)
    #expect(Run(hadDamage: true, again).phase == "failed INTEGRITY_MISMATCH")
    run = Run(again + [.done] + sent)
    #expect(run.phase == "failed INTEGRITY_MISMATCH" && run.actions == ["warn"], "its chunks are told")
    #expect(Run(damaged + [Self.failed(Failure(.timeout, "slow"))]).phase == "failed TIMEOUT")
  }

  @Test func whatIsNotExpected() {
    let events: [UploadMachine.Event] = [
      Self.pass(), .opened(Self.session, isReplayed: false), .told(nil), .refuted([]), .found(nil),
      .takenOver(HeldChunks(), expiresAt: nil), .compared(lost: nil, isIncomplete: false),
    ]
    for event in events { #expect(Run([event]).phase == "failed INTERNAL") }
    #expect(Run([.done, .done]).phase == "failed INTERNAL")
    #expect(Run([.stopped, .done, Self.failed(Self.gone)]).phase == "stopped")
  }
}
