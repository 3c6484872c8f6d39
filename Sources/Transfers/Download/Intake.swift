import Digests
import Endpoints
import HTTPClient
import JobLedger
import JobModel
import LocalFiles

/// Takes a download's bytes in: carries out at once what its machine decides while they come.
///
/// Belongs to one download.
final class Intake {
  let record: TransferRecord
  let source: any RemoteSource
  let requester: Requester
  private let live: LiveTransfer
  var machine: DownloadMachine
  var staged = StagedFile()
  /// nil until it is decided where the file goes.
  var destination: DestinationFile?
  /// Bytes received of a body of unknown length since the space left was looked at.
  private var unlooked = 0

  /// A file up to this size that comes in one piece is hashed as it passes.
  private static var inlineLimit: Int64 { 1 << 20 }
  /// Bytes of a body of unknown length between two looks at the space left.
  private static var spaceCheckInterval: Int { 4 << 20 }

  init(_ record: TransferRecord, source: any RemoteSource, requester: Requester, live: LiveTransfer) {
    self.record = record
    self.source = source
    self.requester = requester
    self.live = live
    let transfer = record.transfer
    machine = DownloadMachine(
      Fetch.Terms(
        chunkSize: transfer.settings.chunkSize, chunksInFlight: transfer.settings.policy.chunksInFlight,
        verify: transfer.settings.verify, expect: transfer.expect, rate: record.context.rate(for: transfer),
        place: source.place, promisedDigests: source.promisedDigests,
        // A store may keep its checksum from ranges (SeaweedFS): where one is demanded, it is asked for first.
        firstRangeDescribes: source.firstRangeDescribes && transfer.knownSize != 0
          && transfer.settings.verify != .required,
        promisesRanges: source.promisesRanges,
        pinned: { source.pinned($0) }))
  }

  var context: TransferContext { record.context }
  /// Bytes of the file that are here.
  var here: Int64 { machine.fetch.map.have.total }
  /// Bytes that came in this attempt and are here.
  var arrived: Int64 { machine.fetch.map.arrived }
  private var minFree: Int64 { record.transfer.settings.policy.minFree }

  /// Asks the fetch, and carries out what it has decided.
  func decide<Value>(_ ask: (inout Fetch) -> Value) -> Value {
    let value = ask(&machine.fetch)
    carryOut()
    return value
  }

  func carryOut() {
    for effect in machine.fetch.takeEffects() { carryOut(effect) }
  }

  private func carryOut(_ effect: Fetch.Effect) {
    switch effect {
    case .note(let event):
      if case .sized(let size) = event { live.setSize(size) }
      record.note(event)
    case .save: record.save()
    case .warn(let message): record.warn(message)
    case .startOver(let reason):
      record.restart(reason)
      staged.clear()
      live.setDone(0)
    case .hashAnew: staged.hashAnew()
    case .forget(let lost):
      if !lost.isEmpty {
        context.run.writer.submit(.lostChunks(seq: record.transfer.seq, offsets: lost.map(\.offset)))
        staged.forgetHash()
      }
      live.setDone(here)
    case .wrote(let range, let contiguous):
      staged.wrote(range, contiguous: contiguous, context.local.writeback)
    case .tellWhole: if staged.held == nil { tellWhole() }
    case .keep(let part):
      record.keep(part, in: staged.part?.record)
      noteRecorded()
    case .record(let chunk, let index, let completing):
      record.record(chunk, in: staged.part?.record, index: index, completing: completing)
      noteRecorded()
    case .promoted(let facts, let chunks):
      record.noteBoot()
      record.note(.promoted(facts, remoteID: source.remoteID(of: machine.fetch.object), chunks: chunks))
      record.dropChunkRecords()
      staged.promoted(inode: facts.inode, context.local.writeback)
    }
  }

  func requireDestination() throws -> DestinationFile {
    guard let destination else { throw Failure(.internal, "the destination's folder is not open") }
    return destination
  }

  /// Judges an answer by its head.
  ///
  /// - Returns: where its bytes go; nil where none come.
  func open(_ opening: Opening, wanted: Range<Int64>?, _ proof: RangeDigestCheck) throws -> FileBody? {
    proof.promise = machine.fetch.promise(of: opening)
    switch decide({ $0.opened(opening, wanted: wanted) }) {
    case .nothing: return nil
    case .refuse(let failure): throw failure
    case .take(let range):
      try DownloadAttributes(of: record).checkTime(of: machine.fetch.object, source.place, record)
      try reserve(range, wanted)
      // What its own digest is to prove is read again before.
      if proof.promise == nil { try hold(range) }
      let target = staged.isPassing ? staged.target : .part(try openPart())
      guard let target else { throw Failure(.internal, "no part file was made") }
      return FileBody(
        target: target, digest: staged.digest, start: range.lowerBound, end: range.upperBound,
        chunkSize: machine.fetch.chunkSize, expected: machine.fetch.terms.expect.size,
        pace: recordsParts(wanted, proof) ? record.pace : nil)
    }
  }

  /// Puts an answer that can't be gone on with aside in the budgets that pay for it.
  private func reserve(_ range: Range<Int64>, _ wanted: Range<Int64>?) throws {
    let (fetch, policy) = (machine.fetch, record.transfer.settings.policy)
    guard let budget = Budget.least(policy.budget, context.limits.budget), fetch.object.size != nil,
      wanted == nil || !fetch.isRanged || !fetch.canSplit
    else { return }
    guard range.count <= budget.bytes else {
      throw Failure(
        .policyDenied,
        "the budget of \(budget.bytes) bytes a \(budget.period.rawValue) is less than the \(range.count) bytes that `\(source.place)` gives at once: it could never be received. Raise `budget`"
      )
    }
    // Only an answer tells that it can't be gone on with: each of a long plan would be asked for in vain.
    try record.reserveBudget(requester, Int64(range.count), goesOnAlone: true)
  }

  /// Parts of chunks are recorded where a later attempt can ask for the rest; not where a small file is hashed as it
  /// passes, nor where an answer's own digest, which is of all of it, is to prove them.
  private func recordsParts(_ wanted: Range<Int64>?, _ proof: RangeDigestCheck) -> Bool {
    if case .inline = staged.digest { return false }
    return wanted != nil && proof.promise == nil && machine.fetch.isRanged && machine.fetch.canSplit
  }

  /// Holds a small file that comes in one piece; not where opening its part file will show, before a byte moves, why there
  /// can't be one.
  private func hold(_ range: Range<Int64>) throws {
    guard staged.isUntouched, here == 0, let size = machine.fetch.object.size,
      range == 0..<size,
      size <= min(InMemoryFile.limit, machine.fetch.chunkSize)
    else { return }
    let destination = try requireDestination()
    let free = try destination.noteFileSystem().free
    guard free - size >= minFree, destination.folder.takesFiles else { return }
    try staged.hold(size: size, wantedKinds)
  }

  /// Opens the part file, reserves its space and begins the digest.
  @discardableResult
  func openPart() throws -> PartFile {
    let (wasHeld, hadPart) = (staged.held != nil, staged.part != nil)
    let (destination, map, size) = (try requireDestination(), machine.fetch.map, machine.fetch.object.size)
    let isOnePiece = size.map { $0 <= Self.inlineLimit && $0 <= machine.fetch.chunkSize } ?? false
    let plan = StagedFile.Plan(
      kinds: wantedKinds, size: size, minFree: minFree, contiguous: map.have.contiguous,
      isOnePiece: isOnePiece && map.have.total == 0)
    let opened = try staged.open(
      plan, pool: context.local.pool, blocks: context.local.blocks, making: destination.makingPart)
    if !hadPart { try destination.noteFileSystem() }
    if wasHeld { tellWhole() }
    return opened
  }

  /// Which digests to compute: what was promised, and SHA-256 always, which proves the file later on.
  private var wantedKinds: Set<DigestKind> {
    let expected = Set(record.transfer.expect.digests.keys)
    guard record.transfer.settings.verify != .size else { return Set(expected.map(\.kind)) }
    let said = record.transfer.settings.then?.digests ?? []
    return expected.union(machine.fetch.object.digests.keys).union([.sha256]).union(said)
      .reduce(into: []) {
        $0.insert($1.kind)
      }
  }

  /// Bytes have come.
  func moved(_ count: Int) throws {
    record.note(.moved(Int64(count)))
    live.add(Int64(count))
    context.board.count(count)
    // Room for a body of unknown length can't be looked for before it begins.
    guard machine.fetch.object.size == nil else { return }
    unlooked += count
    guard unlooked >= Self.spaceCheckInterval else { return }
    unlooked = 0
    try staged.part?.checkSpace(for: 0, leaving: minFree)
  }

  /// Bytes that came are of no use.
  func discard(_ count: Int64) {
    record.note(.discarded(count))
    live.add(-count)
  }

  /// A digest of bytes in the part file; nil where there is none.
  nonisolated(nonsending) func hash(
    _ range: Range<Int64>, _ algorithm: DigestAlgorithm
  ) async throws -> String? {
    guard let part = staged.part else { return nil }
    return try await context.local.pool.run { try ChunkDigests.of(range, of: part.file, [algorithm]) }[
      algorithm]
  }

  /// Tells of the one chunk of a small file, once it is written.
  private func tellWhole() {
    guard let chunk = machine.fetch.map.unrecorded else { return }
    context.run.events(.chunk(id: record.id, index: 0, bytes: chunk.length, attempts: chunk.attempts))
  }

  /// What was held may have become a part file, or the finished one, also where something failed after that.
  func takeMade() {
    guard let inode = staged.takeMade() else { return }
    tellWhole()
    record.note(.intended(inode))
  }

  /// Bytes were put on record: the counts go with them.
  private func noteRecorded() {
    noteProgress()
    record.count(requester.takeTally())
    record.save()
  }

  func noteProgress() {
    let map = machine.fetch.map
    guard staged.part != nil || map.have.total > 0 else { return }
    let chunkSize = machine.fetch.chunkSize
    let chunks =
      machine.fetch.object.size.map { map.chunks(size: $0, chunkSize: chunkSize) }
      ?? record.progress.chunksCompleted
    record.note(.held(contiguous: map.have.contiguous, chunks: chunks))
    guard let size = machine.fetch.object.size else { return }
    record.note(.sized(size))
    // A broken connection leaves several records of one chunk.
    record.note(.reusedAtMost(chunks: Int((record.progress.reused + chunkSize - 1) / chunkSize)))
  }

  // MARK: At the end

  /// A file that is there already is taken or kept: what came of this one is of no more use.
  func giveWay(to end: TransferEnd) {
    guard end == .settled(.adopted) || end == .skipped(.exists),
      !staged.isEmpty || record.transfer.hasProgress
    else { return }
    let (size, chunks) = (record.progress.size ?? 0, record.progress.chunksTotal)
    dropPart()
    guard end == .settled(.adopted) else { return record.note(.unproved) }
    record.note(.reused(size))
    record.note(.held(contiguous: size, chunks: chunks))
  }

  /// Leaves behind what the next attempt can use, and nothing else.
  ///
  /// - Parameter dropsProgress: it can use nothing.
  func leave(dropsProgress: Bool, own: FileFacts?) {
    // A file that only its attach request is left of is of use.
    if dropsProgress, !record.progress.isAttaching { dropPart() }
    if staged.held != nil {
      // What was only in memory is gone.
      staged.dropHeld()
      machine.fetch.dropBytes()
      // An earlier attempt's, whose file it took away.
      if record.progress.intendedInode != own?.inode { record.note(.intended(nil)) }
      record.restart(.partGone)
    }
    // Stopped before its verification: the next attempt begins there, if it knows of what object the bytes are.
    if let part = staged.part, let chunk = machine.fetch.map.unrecorded {
      record.save()
      record.keep(chunk, in: part.record)
    }
    // A part file with nothing in it that could be used again only takes space from others.
    if staged.part != nil, here == 0 { dropPart() }
    noteProgress()
  }

  /// Removes the part file and forgets its chunks.
  private func dropPart() {
    // An earlier attempt's part file goes too, where this one ended before it was opened.
    if staged.part == nil { destination?.removeLeftParts() }
    staged.discard()
    record.restart(.givenUp)
    machine.fetch.dropBytes()
  }
}
