import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles

/// One upload, from wherever its record stands to the file that the server has confirmed: carries out what the
/// `UploadMachine` decides.
actor Upload {
  nonisolated private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var scope: UploadScope
  private var machine: UploadMachine
  private var source: SendingSource?
  private var proofs: ChunkProofs?
  /// Of a copy: where its bytes come from; nil where they come from a local file.
  private let origin: CopyOrigin?
  private let attach: AttachStep
  /// The scope of bytes that pass through haul.
  private let relayScope: UploadScope
  /// The service of a copy's two ends was not asked in vain.
  private var mayAskService = true
  /// The server for which this copy has a share of the buffers.
  private var sharing: String?

  init(
    _ transfer: LedgerTransfer, sink: any RemoteSink, requester: Requester, from origin: CopyOrigin? = nil,
    attach route: AttachRoute? = nil, context: TransferContext, live: LiveTransfer, stop: StopFlag
  ) {
    self.origin = origin
    executor = context.client.transport.executor
    scope = UploadScope(
      record: TransferRecord(transfer, context: context, stop: stop), sink: sink, requester: requester,
      live: live)
    attach = AttachStep(record: scope.record, route: route)
    relayScope = scope
    machine = Self.machine(scope)
  }

  private static func machine(_ scope: UploadScope) -> UploadMachine {
    let (settings, progress) = (scope.settings, scope.record.progress)
    return UploadMachine(
      UploadMachine.Limits(
        attempts: settings.policy.retryAttempts, chunksInFlight: settings.policy.chunksInFlight,
        keepsExisting: settings.ifExists == .keep, hadDamage: progress.chunkSize != nil,
        freshStarts: progress.freshStarts), place: scope.sink.place)
  }

  private var record: TransferRecord { scope.record }
  private var now: Double { scope.context.client.clock.now() }
  var finalState: TransferState { record.state }

  func run(release: @Sendable () -> Void) async {
    defer { shareBuffers(nil) }
    record.begin()
    let proved = await proved()
    countRequests()
    let end = await attach.run(after: proved) { try await self.digests($0) }
    release()
    source?.copy?.close()
    source?.digests.cancel()
    if end.dropsProgress(record.stop.event) {
      // The task may be cancelled, and its requests with it.
      await Task { await self.abandon() }.value
      // A file that only its attach request is left of is of use.
      if !record.progress.isAttaching { record.note(.onlyHeld(0)) }
      if record.progress.completedAt == nil {
        record.note(.held(contiguous: 0, chunks: 0))
        record.note(.reused(0))
        record.note(.reusedAtMost(chunks: 0))
      }
    }
    countRequests()
    record.end(end)
    if end.isOver(record.stop.event) { await SourceFile.dropCopy(of: record) }
  }

  private func countRequests() {
    if let origin { record.count(origin.requester.takeTally()) }
    record.count(scope.requester.takeTally())
  }

  /// Brings the file to where the server has confirmed it.
  private func proved() async -> TransferEnd {
    if attach.isOnlyLeft, origin != nil || SourceFile.isAsSent(record) {
      record.noteWhole()
      return .finished
    }
    let end = await attempt()
    // What the manifest says of the source is looked at before the service is asked.
    guard scope.copiedBy == .service, source != nil, case .failed(let failure) = end,
      ServiceCopy.leavesToRelay(
        failure, record.progress.verification, replaces: scope.settings.ifExists == .replace)
    else { return end }
    await relay(insteadOf: failure)
    return await attempt()
  }

  private func attempt() async -> TransferEnd {
    do {
      let source = try await openSource()
      return await drive(source, ChunkProofs(scope, source))
    } catch {
      return Self.isStop(error) ? .stopped : .failed(Failure(error))
    }
  }

  /// Digests of the whole source that the proof did not need.
  private func digests(_ missing: Set<DigestAlgorithm>) async throws -> [DigestAlgorithm: String] {
    guard let source else { throw Failure(.internal, "an upload's source is not open") }
    var found = try await source.digests.whole(also: missing)
    let unread = missing.subtracting(found.keys)
    if let copy = source.copy, !unread.isEmpty {
      record.warn(
        "the source is read once more: `then` says \(unread.map(\.rawValue).sorted().joined(separator: ", ")) of it"
      )
      found.merge(try await copy.of(0..<copy.size, unread)) { old, _ in old }
    }
    try source.file.check()
    return found
  }

  /// Forgets what the service has copied, and begins anew with bytes that pass through haul.
  private func relay(insteadOf failure: Failure) async {
    let isOfAll = ServiceCopy.isOfAllObjects(failure)
    if !isOfAll || scope.context.uploads.relayed.isFirst(scope.sink.origin) {
      record.warn(
        "the service did not copy it by itself, so its bytes pass through haul: \(failure.message)")
    }
    await abandon()
    forget(.sessionGone)
    source?.copy?.close()
    scope = relayScope
    mayAskService = false
    machine = Self.machine(scope)
  }

  /// What the state can't take ends the run, which says why, once.
  private static func isStop(_ error: any Error) -> Bool {
    error is CancellationError || error is LedgerError
  }

  /// Opens the source; a change since the last attempt ends the old session's use.
  private func openSource() async throws -> SendingSource {
    if let origin { return try await openRemote(origin) }
    let path = record.transfer.source.localPath ?? ""
    let file = try await SourceFile.open(scope.context.local.fullPath(path), for: record)
    // What a session was opened of is the copy that `snapshot` keeps; an only request's source is what was copied.
    try await startAnew(ifNot: record.progress.session == nil ? file.recorded : file.facts)
    let source = try SendingSource(file, path, scope)
    self.source = source
    return source
  }

  private func openRemote(_ origin: CopyOrigin) async throws -> SendingSource {
    if let obstacle = scope.settings.obstacle { throw obstacle.failure(record.transfer.source.text) }
    let (object, isRecorded, whole) = try await CopyLook(origin: origin, scope: scope).find()
    if let service = origin.service, mayAskService,
      ServiceCopy(scope: scope, object: object).isWanted(service.traits.abilities)
    {
      (scope.sink, scope.copiedBy) = (service, .service)
    } else if record.progress.session != nil, record.progress.copiedBy == .service {
      // What the service has copied of it can't be told by digests that are wanted now.
      await abandon()
      forget(.contentChanged)
    }
    // What a service copies by itself needs no room.
    shareBuffers(scope.copiedBy == .relay ? scope.sink.origin : nil)
    let copy = try CopySource(origin, scope, object, isRecorded: isRecorded, whole: whole)
    copy.feed = { range, pipe in
      // A task of this actor's own: what it reads may outlive the request that it is for.
      Task { await self.pour(range, pipe) }
    }
    try await startAnew(ifNot: copy.facts, canGoOn: copy.canGoOn)
    if record.progress.completedAt == nil { record.note(.copying(copy.object, nil)) }
    let source = try SendingSource(copy, record.transfer.source.text, scope)
    self.source = source
    return source
  }

  private func shareBuffers(_ server: String?) {
    let budget = scope.context.uploads.budget
    if let sharing { budget.end(copyTo: sharing) }
    if let server { budget.begin(copyTo: server) }
    sharing = server
  }

  private func pour(_ range: PipedRange, _ pipe: BytePipe) async {
    await source?.copy?.pour(range, into: pipe)
  }

  private func startAnew(ifNot now: FileFacts, canGoOn: Bool = true) async throws {
    guard let old = record.progress.source, record.progress.completedAt == nil else { return }
    // Of a copy's only request nothing is gone on with: what stands there is compared as a whole.
    guard origin == nil || record.progress.session != nil else { return }
    let touched = TouchedSource(scope: scope)
    let isSame = try old.isSameContent(as: now) || origin == nil && touched.canGoOn(from: old, as: now)
    guard !isSame || !canGoOn else { return }
    record.warn(
      isSame
        ? "nothing tells for certain whether the source is what was begun with: the copy starts anew"
        : "the source changed since the last attempt: the upload starts anew")
    await abandon()
    forget(.contentChanged)
  }

  /// Does what the machine says until it says how the upload ended.
  private func drive(_ source: SendingSource, _ proofs: ChunkProofs) async -> TransferEnd {
    self.proofs = proofs
    Self.remember(record, by: scope.sink)
    var actions = machine.handle(.begun, at: now)[...]
    while true {
      guard let action = actions.popFirst() else {
        if case .ended(let end) = machine.phase { return end }
        return .failed(Failure(.internal, "an upload has nothing to do, and has not ended"))
      }
      do {
        guard let event = try await perform(action, source, proofs) else { continue }
        actions = machine.handle(event, at: now)[...]
      } catch {
        let event: UploadMachine.Event =
          Self.isStop(error) ? .stopped : .failed(Failure(error), session: record.progress.session)
        actions = machine.handle(event, at: now)[...]
      }
    }
  }

  /// Gives the sink the record of what its sessions hold.
  private static func remember(_ record: TransferRecord, by sink: any RemoteSink) {
    sink.remember {
      // Where everything is to be read, no earlier attempt's proof counts.
      record.hasChunks && !record.context.checksEverything
        ? try record.context.run.ledger.chunks(of: record.transfer.seq) : []
    } note: { id, facts in
      guard var session = record.progress.session, session.id == id else { return }
      session.facts.merge(facts) { _, new in new }
      record.note(.session(session))
      record.save()
    }
  }

  /// - Returns: the event that the action brings about; nil where the next action follows.
  private func perform(
    _ action: UploadMachine.Action, _ source: SendingSource, _ proofs: ChunkProofs
  ) async throws -> UploadMachine.Event? {
    let takeover = SessionTakeover(scope: scope, source: source)
    switch action {
    case .settle: return try await settle(source, proofs)
    case .check: return .checked(try await check(source))
    case .sendWhole: return .found(try await sendWhole(source))
    case .create(let old, let lost):
      let opening = SessionOpening(scope: scope, source: source)
      let (session, isReplayed) = try await opening.open(renewing: old, lost: lost)
      return .opened(session, isReplayed: isReplayed)
    case .ask(let session): return .told(try await takeover.told(of: session))
    case .takeOver(let holdings, let session):
      return .takenOver(try await takeover.held(holdings, session), expiresAt: holdings?.expiresAt)
    case .requireProof(let session): try scope.requireProof(in: session)
    case .send(let session, let workers):
      source.copy?.willSend(besides: machine.held) { [self] in machine.held.sorted }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<workers { group.addTask { try await self.work(session) } }
        try await group.waitForAll()
      }
      return .done
    case .judgeReceipts: return .refuted(scope.traits.rejectedChunks(machine.held.sorted))
    case .prepareToClose(let session): return try await prepareToClose(session, source)
    case .close(let session):
      return .found(
        try await scope.sink.complete(session, source: source.request, chunks: machine.held.sorted))
    case .look(let session):
      let sent = try sentChunks().sorted
      source.copy?.recall(sent)
      return .found(
        try await DestinationLook(scope: scope, source: source)
          .uploaded(session, sent, try await source.digests.whole()))
    case .prove(let file):
      try await UploadProof(scope: scope, source: source, proofs: proofs).prove(file, try sentChunks())
      return .done
    case .compare(let session):
      let found = try await takeover.differing(machine.held, session)
      return .compared(lost: found?.lost, isIncomplete: found?.isIncomplete ?? false)
    case .wait(let failure, let lost):
      try await scope.requester.wait(after: failure, lost: lost)
      return .done
    case .reopen:
      try await source.reopen()
      return .done
    case .shrinkChunks: source.shrinkChunks()
    case .halveChunks: source.halveChunks()
    case .note(let event): record.note(event)
    case .save: record.save()
    case .drop(let lost): drop(lost)
    case .warn(let message): record.warn(message)
    case .end(let session): await SessionIntents(scope: scope).end(session)
    case .abandon: await abandon()
    case .forget(let reason): forget(reason)
    }
    return nil
  }

  private func abandon() async { await SessionIntents(scope: scope).abandon() }

  private func forget(_ reason: RestartReason) {
    proofs?.forget()
    record.restart(reason)
    scope.live.setDone(0)
  }

  /// What the server holds of these chunks is of no use.
  private func drop(_ lost: [ChunkRecord]) {
    for record in lost {
      self.record.note(.dropped(record.length))
      scope.live.add(-record.length)
    }
    scope.context.run.writer.submit(.lostChunks(seq: record.transfer.seq, offsets: lost.map(\.offset)))
  }

  private func settle(_ source: SendingSource, _ proofs: ChunkProofs) async throws -> UploadMachine.Event {
    switch try await UploadSettling(scope: scope, source: source).find() {
    case .end(let end): return .settled(end)
    case .uploaded(let file):
      try await UploadProof(scope: scope, source: source, proofs: proofs).prove(file, HeldChunks())
      return .settled(.finished)
    case .mustMove:
      record.noteMove()
      try record.requireBudget(scope.requester)
      if let copy = source.copy {
        try await copy.confirmEmptiness()
        record.note(.copying(copy.object, scope.copiedBy))
      }
      return .done
    }
  }

  /// What can be known before a session is asked for.
  private func check(_ source: SendingSource) async throws -> UploadMachine.Pass {
    if source.isHashed { try source.digests.begin() }
    try await source.checkKnown()
    try await endOutdated(source)
    try await UploadAttributes(scope: scope, source: source).decide()
    if source.request.size == 0, source.abilities.emptyFile == .refused {
      throw Failure(
        .protocolViolation,
        "`\(record.transfer.source.text)` has 0 bytes, and this service refuses empty files: leave it out (`exclude`)"
      )
    }
    let needsSession = scope.traits.opensSession(for: source.request)
    // Nothing comes after the only request that could still refuse bad bytes.
    if !needsSession, !scope.expect.digests.isEmpty, source.copy == nil {
      try source.checkExpected(try await source.digests.whole())
    }
    return UploadMachine.Pass(
      needsSession: needsSession, session: record.progress.session,
      isClosing: record.progress.sessionState == .finalizing, size: source.request.size,
      abilities: source.abilities)
  }

  /// Ends the session of an earlier attempt that was opened with other words of the object. One that may be completed
  /// already is gone on with: the file may stand there.
  private func endOutdated(_ source: SendingSource) async throws {
    guard record.progress.sessionState != .finalizing,
      let session = record.progress.session, session.facts[SessionOpening.anew] == nil,
      let before = session.facts[SessionOpening.said],
      try SessionOpening(scope: scope, source: source).said() != before
    else { return }
    record.warn(
      "`preserve`, `content_type`, `headers`, `metadata`, `tags` or what else the manifest says of the object changed since the upload began: it starts anew"
    )
    await abandon()
    forget(.sessionGone)
    scope.isAnew = true
  }

  private func sendWhole(_ source: SendingSource) async throws -> UploadedFile {
    if scope.copiedBy == .relay {
      // A copy's bytes are paid for on both ways.
      let ways: Int64 = source.copy?.isHere == false ? 2 : 1
      try record.reserveBudget(scope.requester, ways * source.request.size)
    }
    record.note(.laidOut(chunks: 1))
    if scope.settings.chunkSize == .auto { record.note(.chosen(chunk: source.request.chunkSize)) }
    // The intent, before a kill can come between the answer and its record: what stands there then may be ours.
    if scope.settings.ifExists != .replace {
      // Of which source: of an update, the one on record is still the last one's.
      record.note(.source(source.file.recorded))
      if source.isHashed, source.copy == nil { source.intend(try await source.digests.whole()) }
      try await recordIntent()
    }
    record.save()
    let chunk = UploadChunk(index: 0, range: 0..<source.request.size)
    return scope.traits.closed(nil, receipt: try await sender(nil)?.send(chunk, mayHoldMore: false))
  }

  private func recordIntent() async throws {
    record.note(.finalizing)
    record.save()
    try await scope.context.run.writer.barrier()
  }

  private func sender(_ session: RemoteSession?) -> ChunkSender? {
    guard let source, let proofs else { return nil }
    return ChunkSender(scope: scope, source: source, proofs: proofs, session: session) { event in
      self.tell(event)
    } coming: {
      self.machine.comingChunks
    }
  }

  private func tell(_ event: UploadMachine.Event) {
    for case .note(let event) in machine.handle(event, at: now) { record.note(event) }
  }

  /// Sends what waits to be sent, one chunk after the other.
  private func work(_ session: RemoteSession) async throws {
    // A server that takes chunks in order and can't be asked is told only of the last one twice: what is before it
    // must be on record, or a kill would leave the whole upload of no use.
    let mustRecord = source?.abilities.order == .sequential && !scope.traits.tellsHoldings(of: session)
    guard let sender = sender(session) else { return }
    let gate = ChunkGate(scope: scope, order: source?.abilities.order)
    while let size = machine.nextSize(at: now) {
      try await gate.pass(size) {
        guard let chunk = machine.nextChunk(at: now) else { return false }
        var seconds: Double?
        // Also where it fails: those behind it may wait for it.
        defer { tell(.sent(chunk: chunk.index, seconds: seconds)) }
        if mustRecord { try await scope.context.run.writer.barrier() }
        let began = now
        _ = try await sender.send(chunk, mayHoldMore: chunk.range.lowerBound == machine.held.resumedAt)
        seconds = now - began
        return true
      }
    }
  }

  /// The chunks that the finished file is proved by: those of this attempt, or where it began behind the end, those on
  /// record.
  private func sentChunks() throws -> HeldChunks {
    machine.held.isEmpty
      ? HeldChunks(try scope.context.run.ledger.chunks(of: record.transfer.seq)) : machine.held
  }

  /// Records the intent to close the session: it is there before the file can appear, so that a kill in between never takes
  /// our own file for a stranger's.
  private func prepareToClose(
    _ session: RemoteSession, _ source: SendingSource
  ) async throws -> UploadMachine.Event {
    // Also where earlier attempts have sent them all.
    source.copy?.recall(machine.held.sorted)
    try await source.copy?.learn(toCompareWith: source.abilities.fileDigests)
    let mine = source.isHashed ? try await source.digests.whole() : [:]
    if source.copy == nil { try source.checkExpected(mine) } else { try await source.checkExpectedDigests() }
    try await source.check(machine.held)
    if scope.copiedBy == .service { try await source.copy?.confirm() }
    source.request.digests = mine
    source.intend(mine)
    try await recordIntent()
    let look = DestinationLook(scope: scope, source: source)
    guard let file = try await look.last(session, machine.held.sorted, mine) else { return .done }
    if let session = record.progress.session { await SessionIntents(scope: scope).end(session) }
    return .found(file)
  }
}
