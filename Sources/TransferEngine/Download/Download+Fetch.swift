import Digests
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// Getting the bytes: what is missing, a few ranges at once, each answer judged before a byte of it is used.
extension Download {
  /// A file up to this size that comes in one piece is hashed as it passes.
  private static var inlineLimit: Int64 { 1 << 20 }
  /// A network thread that computes for so much of its time gains nothing from another connection.
  private static var saturation: Double { 0.5 }
  /// Bytes of a body of unknown length between two looks at the space left.
  private static var spaceCheckInterval: Int { 4 << 20 }

  func fetchAndVerify() async throws {
    var repairs = 0
    try await resume()
    while true {
      do {
        try await fetch()
        try await verify()
        return
      } catch let failure as Failure {
        switch failure.class {
        case .rangesUnserved:
          if !isSingleStream, object.size ?? .max > chunkSize {
            book.warn("the server does not keep to ranges: one stream, which can't be resumed")
          }
          isSingleStream = true
          object.servesRanges = false
          startOver(.streamBroke)
        case .objectChanged: try begin(anewAfter: failure)
        case .damaged:
          repairs += 1
          guard try await repair(failure, round: repairs) else { throw failure }
        case .transient, .deferred, .credentialExpired, .sessionGone, .sourceChanged, .denied, .permanent:
          throw failure
        }
      }
    }
  }

  /// Another object stands under the name: the one that was begun with is fetched on where the server still has it.
  private func begin(anewAfter change: Failure) throws {
    if let pinned = source.pinned(object) {
      object = pinned
      book.note(.learned(pinned))
      book.save()
      book.warn(
        "the remote object changed: its version \(pinned.version ?? ""), which was begun with, is fetched on")
      return
    }
    guard book.progress.freshStarts == 0 else {
      throw Failure(
        .remoteChanged, "\(source.place) changed again while it was read", expected: object.etag,
        actual: change.actual)
    }
    book.note(.startedAfresh(times: 1))
    book.warn("the remote object changed: what was received of the old one is discarded")
    object = RemoteObject()
    startOver(.contentChanged)
  }

  /// Takes up what earlier attempts left: the part file, as far as its chunks' checksums vouch for it.
  private func resume() async throws {
    object = book.progress.remote
    let destination = try requireDestination()
    let records = book.hasChunks ? try context.ledger.chunks(of: book.transfer.seq) : []
    guard !records.isEmpty, let part = try destination.leftPart(chunks: records.count) else {
      if records.isEmpty { object = RemoteObject() }
      book.restart(.partGone)
      return
    }
    let good = try await part.vouched(records, on: context.pool)
    let lost = Set(records.map(\.offset)).subtracting(good.map(\.offset))
    // Not before: a part file without good chunks is removed when the work ends, also in the middle of this.
    staged.resume(part)
    if !lost.isEmpty {
      context.writer.submit(.lostChunks(seq: book.transfer.seq, offsets: Array(lost)))
      book.warn("\(lost.count) of \(records.count) recorded chunks are damaged on disk and fetched again")
    }
    map.restore(good)
    let reused = good.reduce(0) { $0 + $1.length }
    book.note(.resumed(bytes: reused, chunks: good.count))
    live.setDone(reused)
  }

  func startOver(_ reason: RestartReason) {
    book.restart(reason)
    map = RangeMap()
    staged.clear()
    live.setDone(0)
  }

  var chunkSize: Int64 {
    let configured = settings.chunkSize.bytes(
      of: object.size, chosen: book.progress.automaticChunk, rate: rate)
    // After a mismatch of unknown place, smaller chunks show it better.
    return min(ChunkLayout.largestChunk, max(1, book.progress.chunkSize ?? configured))
  }

  private func fetch() async throws {
    if object == RemoteObject() || map.have.total > 0, let seen = try await source.describe(object) {
      if map.have.total > 0, !book.progress.remote.isSameVersion(as: seen) { throw changed(seen) }
      try learn(seen)
    }
    if object.size == nil, !isSingleStream {
      // The first range tells the size, and is often the whole file.
      try await attempt(0..<chunkSize)
    }
    // A 416 for an empty file names no version, and the next run wants to know which one this was.
    if object.size == 0, !object.isIdentified, let seen = try? await source.probe(), seen.size ?? 0 == 0 {
      try learn(seen)
    }
    if !isSingleStream, !canSplit, !(object.size.map { map.isComplete($0) } ?? false) {
      isSingleStream = true
      book.warn("no strong validator and no digest tells whether ranges belong together: one stream")
      startOver(.streamBroke)
    }
    if isSingleStream {
      guard let size = object.size, map.isComplete(size) else { return try await stream() }
    } else if let size = object.size, !map.isComplete(size) {
      // Room is reserved before a byte is asked for.
      try openPart()
      try await fetchMissing(size)
    }
    if !staged.isPassing { try openPart() }
  }

  /// Fetches what is missing in runs of chunks, as many at once as the policy allows and as bring something.
  private func fetchMissing(_ size: Int64) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      var active = 0
      while true {
        let missing = Int((size - map.have.total + chunkSize - 1) / chunkSize)
        let most = isSaturated ? 1 : max(1, min(settings.policy.chunksInFlight, missing))
        while active < most,
          let run = map.take(size: size, chunkSize: chunkSize, workers: most, longest: longestRun)
        {
          group.addTask { try await self.attempt(run) }
          active += 1
        }
        guard try await group.next() != nil else { return }
        active -= 1
      }
    }
  }

  /// Ranges of one version can be put together only where something tells versions apart, or the whole is proved.
  private var canSplit: Bool {
    guard object.servesRanges != false else { return false }
    return object.rangeValidator != nil || object.version != nil || !expect.digests.isEmpty
      || !object.digests.isEmpty
  }

  /// Everything in one answer, from byte 0.
  private func stream() async throws { try await attempt(nil) }

  /// Fetches a run until all of it is here; a chunk's tries are counted, and each gets the policy's number.
  private func attempt(_ run: Range<Int64>?) async throws {
    defer { if let run { map.giveBack(run) } }
    var before = map.have.total
    try await requester.retrying { tries in
      // The first run is asked for before the size is known.
      let wanted = run.flatMap { run in
        map.have.gaps(in: object.size.map { run.clamped(to: 0..<max(1, $0)) } ?? run).first
      }
      if run != nil, wanted == nil || object.size == 0 { return .done(()) }
      book.note(.tried(tries))
      before = map.have.total
      try await ask(wanted)
      // A server may answer with less than was asked for; it must answer with something.
      guard map.have.total > before || object.size == 0 else {
        throw Failure(.protocolViolation, "\(source.place) answered, and none of what was asked for came")
      }
      return run == nil ? .done(()) : .more
    } recover: { failure, _ in
      // All starts over, once nothing is on its way any more.
      if failure.class == .rangesUnserved || failure.class == .objectChanged { return .none }
      // A stream that can't be resumed keeps nothing, so nothing it got counts as progress; nor do bytes of an object
      // that no version is told of, as those after the break may be another one's.
      if run == nil || isSingleStream || !canSplit {
        startOver(.streamBroke)
        return .none
      }
      return map.have.total > before ? .progress : .none
    }
  }

  /// One request and its answer.
  private func ask(_ wanted: Range<Int64>?) async throws {
    let proof = RangeProof()
    let sink = PartSink(
      blocks: context.blocks,
      decide: { [unowned self] opening in
        try assumeIsolated {
          $0.note(opening, proof)
          return try $0.accept(opening, wanted: wanted, mayHold: proof.promise == nil)
        }
      },
      moved: { [unowned self] count in try assumeIsolated { try $0.moved(count) } },
      record: { [unowned self] chunk in assumeIsolated { $0.received(chunk, proof) } })
    do {
      try await source.read(wanted, of: object, wantsDigest: provesRanges, into: sink)
      try sink.end()
      try await prove(proof)
      if sink.isOpen, object.size == nil { object.size = sink.written }
      if let share = sink.busyShare { isSaturated = share > Self.saturation }
    } catch {
      // What a broken connection brought was checked like the rest: it counts, and only the rest is asked for again.
      // One that can't be written is lost like the rest of its chunk.
      if wanted != nil, !isSingleStream, Self.leavesGoodBytes(error) { try? keep(sink) }
      acceptUnproved(proof)
      book.note(.discarded(sink.pending))
      live.add(-(sink.pending))
      staged.breakOff(hashed: sink.hasHashedPending, isEmpty: map.have.total == 0)
      throw error
    }
  }

  /// Writes and records what has come of an answer that broke off.
  private func keep(_ sink: PartSink) throws {
    if staged.held != nil { sink.goOn(into: try openPart()) }
    try sink.end()
  }

  private static func leavesGoodBytes(_ error: any Error) -> Bool {
    switch error {
    case is CancellationError: true
    case let fault as TransportError: [.networkUnreachable, .timeout].contains(fault.failure.code)
    case let failure as Failure: failure.code == .networkUnreachable
    default: false
    }
  }

  /// Holds a small file that comes in one piece; not where opening its part file will show, before a byte moves, why there
  /// can't be one.
  private func hold(_ start: Int64, _ end: Int64) throws {
    guard staged.isUntouched, map.have.total == 0, start == 0, let size = object.size, end == size,
      size <= min(HeldFile.limit, chunkSize)
    else { return }
    let destination = try requireDestination()
    let free = try destination.noteFileSystem().free
    guard free - size >= settings.policy.minFree, destination.folder.takesFiles else { return }
    try staged.hold(size: size, wantedKinds)
  }

  /// Where the bytes of an answer go.
  ///
  /// - Parameter mayHold: they need not be read again before the file has passed its checks.
  func body(_ start: Int64, _ end: Int64, _ mayHold: Bool) throws -> FileBody {
    if mayHold { try hold(start, end) }
    let target = staged.isPassing ? staged.target : .part(try openPart())
    guard let target else { throw Failure(.internal, "no part file was made") }
    return FileBody(target: target, digest: staged.digest, start: start, end: end, chunkSize: chunkSize)
  }

  /// Opens the part file, reserves its space and begins the digest.
  @discardableResult
  func openPart() throws -> PartFile {
    let (wasHeld, hadPart) = (staged.held != nil, staged.part != nil)
    let destination = try requireDestination()
    let size = object.size
    let isOnePiece = size.map { $0 <= Self.inlineLimit && $0 <= chunkSize } ?? false
    let plan = StagedFile.Plan(
      kinds: wantedKinds, size: size, minFree: settings.policy.minFree, contiguous: map.have.contiguous,
      isOnePiece: isOnePiece && map.have.total == 0)
    let opened = try staged.open(plan, pool: context.pool, blocks: context.blocks) {
      try destination.makingPart()
    }
    if !hadPart { try destination.noteFileSystem() }
    if wasHeld { tellWhole() }
    return opened
  }

  private func moved(_ count: Int) throws {
    book.note(.moved(Int64(count)))
    live.add(Int64(count))
    context.board.count(count)
    // Room for a body of unknown length can't be looked for before it begins.
    guard object.size == nil else { return }
    sinceSpaceCheck += count
    guard sinceSpaceCheck >= Self.spaceCheckInterval else { return }
    sinceSpaceCheck = 0
    try staged.part?.checkSpace(for: 0, leaving: settings.policy.minFree)
  }

  func received(_ chunk: ChunkRecord, _ proof: RangeProof? = nil) {
    if proof?.keeps(chunk) == true { return }
    map.add(chunk)
    staged.wrote(chunk.range, contiguous: map.have.contiguous, context.writeback)
    // A file of one chunk goes straight to its verification: a record would outlive its use by a moment.
    if let size = object.size, chunk.length == size {
      map.unrecorded = chunk
      if staged.held == nil { tellWhole() }
      return
    }
    let (end, first) = (chunk.offset + chunk.length, chunk.offset / chunkSize * chunkSize)
    let isWhole = (end % chunkSize == 0 || end == object.size) && map.have.contains(first..<end)
    // A part of a file's only chunk, for which `learn` has saved nothing: of which object it is goes before it.
    if book.progress.chunksTotal == 1 { book.save() }
    book.record(
      chunk, in: staged.part?.record, index: Int(first / chunkSize), completing: isWhole ? end - first : nil)
    noteProgress()
    book.count(requester.takeTally())
    book.saveNowAndThen()
  }

  /// Tells of the one chunk of a small file, once it is written.
  func tellWhole() {
    guard let chunk = map.unrecorded else { return }
    context.events(.chunk(id: book.id, index: 0, bytes: chunk.length, attempts: chunk.attempts))
  }

  /// Which digests to compute: what was promised, and SHA-256 always, which proves the file later on.
  var wantedDigests: Set<DigestAlgorithm> {
    guard settings.verify != .size else { return [] }
    return Set(expect.digests.keys).union(object.digests.keys).union([.sha256])
  }

  private var wantedKinds: Set<DigestKind> { Set(wantedDigests.map(\.kind)) }
}
