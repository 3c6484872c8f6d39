import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles

/// One download, from wherever its record stands to the verified file at its destination: carries out the steps of its
/// `DownloadMachine`, and is the one place that waits for them.
actor Download {
  nonisolated private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let record: TransferRecord
  private let source: any RemoteSource
  private let intake: Intake
  private let attach: AttachStep
  /// The job's own file at the destination, which may be replaced whatever `if_exists` says.
  private var own: FileFacts?

  init(
    _ transfer: LedgerTransfer, source: any RemoteSource, requester: Requester,
    attach route: AttachRoute? = nil, context: TransferContext, live: LiveTransfer, stop: StopFlag
  ) {
    executor = context.client.transport.executor
    record = TransferRecord(transfer, context: context, stop: stop)
    self.source = source
    attach = AttachStep(record: record, route: route)
    intake = Intake(record, source: source, requester: requester, live: live)
  }

  var finalState: TransferState { record.state }
  private var context: TransferContext { record.context }

  /// Moves and verifies the bytes; `release` is called when the network is done with.
  func run(release: @Sendable () -> Void) async {
    record.begin()
    var step = DownloadMachine.Step.settle
    while let event = await event(of: step, release) {
      step = intake.machine.next(event)
      intake.carryOut()
    }
  }

  private func event(
    of step: DownloadMachine.Step, _ release: @Sendable () -> Void
  ) async -> DownloadMachine.Event? {
    do { return try await carryOut(step, release) } catch
      where error is CancellationError || error is LedgerError
    {
      // What the state can't take ends the run, which says why, once.
      return .stopped
    } catch {
      return .failed(Failure(error), hasBytes: !intake.staged.isEmpty)
    }
  }

  /// - Returns: what came of it; nil at the end.
  private func carryOut(
    _ step: DownloadMachine.Step, _ release: @Sendable () -> Void
  ) async throws -> DownloadMachine.Event? {
    switch step {
    case .settle: return .settled(try await settle())
    case .resume: return try await resume()
    case .settleAnew: return .settled(try await settleAnew())
    case .describe(let object): return .described(try await source.describe(object))
    case .probe: return .probed(try? await source.probe())
    case .fetch(let run):
      try await fetch(run)
      return .fetched
    case .vouch:
      try await vouch()
      return .vouched
    case .fetchMissing(let size):
      // Room is reserved before a byte is asked for.
      try intake.openPart()
      try await fetchMissing(size)
      return .fetched
    case .verify:
      try await verify()
      return .verified
    case .inspect:
      let records = try await recordedChunks()
      return .inspected(
        records, good: try await intake.staged.part?.vouched(records, on: context.local.pool) ?? records)
    case .compare(let size):
      let damaged = try await DamageSearch(chunkSize: intake.machine.fetch.chunkSize).ranges(of: size) {
        range in
        guard let told = try await source.digest(of: range, of: intake.machine.fetch.object) else {
          return .unknown
        }
        return try await intake.hash(range, told.algorithm) == told.hex ? .same : .different
      }
      return .compared(try await recordedChunks(), damaged: damaged)
    case .promote:
      if attach.route == nil { release() }
      return .promoted(try await promote())
    case .end(let end):
      finish(
        await attach.run(after: end) { missing in
          try await self.intake.requireDestination().digests(of: missing)
        })
      return nil
    }
  }

  private func finish(_ end: TransferEnd) {
    record.count(intake.requester.takeTally())
    intake.leave(dropsProgress: end.dropsProgress(record.stop.event), own: own)
    record.end(end)
    intake.destination?.release()
  }

  /// Decides where the file goes, and ends the work where nothing has to be moved.
  private func settle() async throws -> TransferEnd? {
    let transfer = record.transfer
    if let obstacle = transfer.settings.obstacle { throw obstacle.failure(transfer.source.text) }
    let isNamed = !transfer.takesSourceName || record.progress.resolvedDestination != nil
    // Where the name is the server's to say, everything else depends on it.
    let seen = isNamed ? RemoteObject() : try await source.probe()
    intake.destination = try DestinationFile(
      of: record, source: source, serverName: isNamed ? nil : seen.fileName)
    try intake.destination?.take()
    if attach.isOnlyLeft, let present = try intake.requireDestination().present(),
      present.isSame(as: record.progress.destination), present.size == record.progress.size
    {
      record.noteWhole()
      return .finished
    }
    var settlement = Settlement(
      of: record, at: try intake.requireDestination(), source: source, seen: seen,
      listed: ListedLook(record, intake.requester))
    let end = try await settlement.end()
    own = settlement.own
    if let end { intake.giveWay(to: end) }
    return end
  }

  /// Ends the work where a file that came to be there meanwhile is the wanted one, or is to be kept.
  private func settleAnew() async throws -> TransferEnd? {
    var settlement = Settlement(
      of: record, at: try intake.requireDestination(), source: source, seen: intake.machine.fetch.object,
      listed: ListedLook(record, intake.requester))
    let end = try await settlement.endAnew()
    if let end { intake.giveWay(to: end) }
    return end
  }

  /// Takes up what earlier attempts left.
  private func resume() async throws -> DownloadMachine.Event {
    try attributes.check(source.place, record)
    record.noteMove()
    try record.requireBudget(intake.requester)
    let records = record.hasChunks ? try context.run.ledger.chunks(of: record.transfer.seq) : []
    guard !records.isEmpty,
      let part = try intake.requireDestination().leftPart(chunks: records.count)
    else { return .resumed(record.progress, records, hasPart: false) }
    intake.staged.resume(part)
    return .resumed(record.progress, records, hasPart: true)
  }

  /// Compares what was taken up with the part file: what its checksums do not vouch for is missing.
  private func vouch() async throws {
    let records = intake.machine.fetch.map.unvouched
    let good = try await intake.staged.part?.vouched(records, on: context.local.pool)
    intake.decide { $0.vouched(good ?? []) }
  }

  /// Fetches what is missing in runs of chunks, as many at once as the policy allows and as bring something. What was taken up
  /// is compared with the part file beside it: a large one takes longer than a short run has.
  private func fetchMissing(_ size: Int64) async throws {
    try await withThrowingTaskGroup(of: Range<Int64>?.self) { group in
      var active = 0
      if !intake.machine.fetch.map.unvouched.isEmpty {
        group.addTask {
          try await self.vouch()
          return nil
        }
      }
      while true {
        while let run = intake.machine.fetch.takeRun(size: size, active: active) {
          group.addTask {
            try await self.fetch(run)
            return run
          }
          active += 1
        }
        guard let ended = try await group.next() else { return }
        if ended != nil { active -= 1 }
      }
    }
  }

  /// Fetches a run until all of it is here; a chunk's tries are counted, and each gets the policy's number.
  ///
  /// - Parameter run: nil for everything in one answer.
  private func fetch(_ run: Range<Int64>?) async throws {
    defer { if let run { intake.machine.fetch.giveBack(run) } }
    var (before, untied) = (left(of: run), 0)
    try await intake.requester.retrying { tries in
      let wanted = run.flatMap { intake.machine.fetch.missing(in: $0) }
      if run != nil, wanted == nil { return .done(()) }
      record.note(.tried(tries))
      before = left(of: run)
      guard try await isTied(RangeReader(intake, wanted), after: untied) else {
        untied += 1
        return .more
      }
      untied = 0
      // A server may answer with less than was asked for; it must answer with something.
      guard left(of: run) < before || intake.machine.fetch.object.size == 0 else {
        throw Failure(.protocolViolation, "\(source.place) answered, and none of what was asked for came")
      }
      return run == nil ? .done(()) : .more
    } recover: { failure, _ in
      intake.decide { $0.broke(failure, run) }
      return left(of: run) < before ? .progress : .none
    }
  }

  /// What is left of a run, in bytes: only less of it counts as progress, as other runs bring theirs meanwhile.
  ///
  /// - Parameter run: nil for everything, of which only the difference tells.
  private func left(of run: Range<Int64>?) -> Int64 {
    run.map { intake.machine.fetch.map.missing(in: $0) } ?? -intake.arrived
  }

  /// - Returns: false where the range came without the ETag that ties it to others, and is to be asked for again.
  private func isTied(_ reader: RangeReader, after untied: Int) async throws -> Bool {
    do { try await reader.read() } catch let failure as Failure
      where Fetch.asksAgain(after: failure, untied: untied)
    {
      return false
    }
    return true
  }

  private func verify() async throws {
    if !intake.staged.isPassing { try intake.openPart() }
    let verification = DownloadVerification(record, of: source.place)
    let fetch = intake.machine.fetch
    let object = fetch.object
    let size = try verification.checkSize(
      try intake.staged.count(), told: fetch.isSizeCounted ? nil : object.size,
      in: try intake.requireDestination().path)
    let found = try await intake.staged.takeDigest(size: size)()
    record.note(.hashed(found))
    try verification.checkDigests(found, promised: object.digests)
    try await verification.checkType(size: size, on: context.local.pool, try intake.staged.reader())
  }

  private func recordedChunks() async throws -> [ChunkRecord] {
    try await context.run.writer.barrier()
    return try context.run.ledger.chunks(of: record.transfer.seq)
  }

  /// Every check has passed: puts the file in its place.
  private func promote() async throws -> FileFacts {
    guard !intake.staged.isEmpty else { throw Failure(.internal, "there is nothing to promote") }
    // A doubt about the file that stands there outlives an intent that comes to nothing.
    if !record.isUnverified { record.noteBoot() }
    record.count(intake.requester.takeTally())
    intake.noteProgress()
    defer { intake.takeMade() }
    let (attributes, object) = (attributes, intake.machine.fetch.object)
    let plan = attributes.plan(object)
    record.note(.attributes(plan.kept))
    try plan.check(record.transfer.settings.preserve, "a download from \(source.place)")
    if attributes.hasUnreadableTime(plan, object) {
      record.warn("the Last-Modified of \(source.place) can't be read: the file has the present time")
    }
    return try await Promotion(
      record: record, destination: try intake.requireDestination(), staged: intake.staged, own: own,
      time: attributes.time(plan, object), mode: attributes.mode(plan)
    ).run()
  }

  private var attributes: DownloadAttributes { DownloadAttributes(of: record) }
}
