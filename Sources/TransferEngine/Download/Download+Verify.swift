import Digests
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// Proving that what is in the part file is what was promised, and putting it in its place.
extension Download {
  func verify() async throws {
    let actual = try staged.count()
    guard let size = object.size ?? Optional(actual) else { return }
    book.check(Verification("size", .server, object.size == nil ? .unavailable : .match))
    if let wanted = expect.size {
      book.check(Verification("size", .manifest, wanted == size ? .match : .mismatch))
      guard wanted == size else {
        throw Failure(
          .lengthMismatch, "\(source.place) gave \(size) bytes, \(wanted) are expected",
          expected: String(wanted),
          actual: String(size))
      }
    }
    guard actual == size else {
      throw Failure(
        .ioError,
        "the part file of `\(try requireFolder().path)/\(name)` has \(actual) bytes in place of \(size): somebody else changed it"
      )
    }
    let found = try await staged.takeDigest(size: size)()
    book.note(.hashed(found))
    if settings.verify != .size {
      try compare(found, with: expect.digests, against: .manifest)
      try compare(found, with: object.digests, against: .server)
      if expect.digests.isEmpty, object.digests.isEmpty {
        book.check(Verification("sha256", .server, .unavailable))
      }
    }
    try await checkType(size: size, try staged.reader())
  }

  private func compare(
    _ found: [DigestAlgorithm: String], with promised: [DigestAlgorithm: String],
    against: Verification.Against
  ) throws {
    for (algorithm, digest) in promised.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let matches = found[algorithm] == digest
      book.check(Verification(algorithm.rawValue, against, matches ? .match : .mismatch))
      guard matches else {
        let by = against == .manifest ? "the manifest expects" : "the server promised"
        throw Failure(
          .integrityMismatch,
          "\(source.place): \(algorithm.rawValue) of what was received is \(found[algorithm] ?? "unknown"), \(by) \(digest)",
          expected: digest, actual: found[algorithm])
      }
    }
  }

  /// - Parameter read: bytes of the file, by offset and count.
  func checkType(size: Int64, _ read: @escaping @Sendable (Int64, Int) throws -> [UInt8]) async throws {
    guard let type = expect.type else { return }
    let verdict = try await context.pool.run {
      try MediaTypeRule.check(type: type, size: size, read: read)
    }
    switch verdict {
    case .match: book.check(Verification("type", .manifest, .match))
    case .mismatch(let reason):
      book.check(Verification("type", .manifest, .mismatch))
      throw Failure(
        .typeMismatch, "\(source.place) is not \(type): \(reason)", expected: type, actual: reason)
    }
  }

  /// After a mismatch: first what the chunks' checksums do not vouch for, then what is not what the server says it sent,
  /// then once everything in small chunks.
  ///
  /// - Returns: false where nothing is left to try.
  func repair(_ mismatch: Failure, round: Int) async throws -> Bool {
    guard !staged.isEmpty, let size = object.size else { return false }
    if round == 1, map.records > 1, let part = staged.part {
      let records = try await recorded()
      let good = try await part.vouched(records, on: context.pool)
      let lost = Set(records.map(\.offset)).subtracting(good.map(\.offset))
      if !lost.isEmpty {
        book.warn("\(mismatch.message); \(lost.count) chunks are damaged on disk and fetched again")
        keep(good, of: records)
        return true
      }
    }
    if !hasAskedForRanges {
      hasAskedForRanges = true
      if let wrong = try await rangesThatDiffer(of: size), !wrong.isEmpty {
        provesRanges = true
        let records = try await recorded()
        let good = records.filter { record in !wrong.contains { $0.overlaps(record.range) } }
        let lost = wrong.reduce(0) { $0 + Int64($1.count) }
        book.warn(
          "\(mismatch.message); \(lost) of its \(size) bytes are in parts that arrived damaged, and are fetched again"
        )
        keep(good, of: records)
        return true
      }
    }
    // The whole file's digest alone judges the last try: digests of ranges may be what is wrong.
    provesRanges = false
    guard book.progress.freshStarts < 2 else { return false }
    book.note(.startedAfresh(times: 2))
    book.warn("\(mismatch.message); everything is fetched once more, in smaller chunks")
    book.note(.chunked(min(chunkSize, max(65_536, chunkSize / 4))))
    startOver(.damaged)
    book.note(.laidOut(chunks: ChunkLayout(size: size, chunkSize: chunkSize).count))
    return true
  }

  /// Forgets the chunks that are not among the good ones.
  private func keep(_ good: [ChunkRecord], of records: [ChunkRecord]) {
    let lost = Set(records.map(\.offset)).subtracting(good.map(\.offset))
    context.writer.submit(.lostChunks(seq: book.transfer.seq, offsets: Array(lost)))
    for record in records where lost.contains(record.offset) { book.note(.dropped(record.length)) }
    map = RangeMap()
    map.restore(good)
    live.setDone(map.have.total)
  }

  private func recorded() async throws -> [ChunkRecord] {
    try await context.writer.barrier()
    return try context.ledger.chunks(of: book.transfer.seq)
  }

  /// Every check has passed: records the intended promotion, renames, and reports the completion as not yet synced.
  func promote() async throws -> TransferEnd {
    guard let folder, !staged.isEmpty else {
      throw Failure(.internal, "there is nothing to promote")
    }
    // A doubt about the file that stands there outlives an intent that comes to nothing.
    if !isDoubtful { noteBoot() }
    book.count(requester.takeTally())
    noteProgress()
    var making: (@Sendable () throws -> LedgerChange)?
    if let part = staged.part {
      try part.setTime(sourceTime)
      book.note(.intended(part.record.inode))
      book.save()
    } else if let held = staged.held {
      let (name, tag) = (name, context.partTag(book.transfer.seq))
      let (free, time, intent) = (settings.policy.minFree, sourceTime, book.intent())
      making = { intent(try held.make(in: folder, for: name, tag: tag, leaving: free, time: time)) }
    }
    defer { takeMade() }
    let (home, name, beneath, mode) = (context.folder, name, !settings.allowsOutside, settings.mode)
    let (replaces, own) = (settings.ifExists == .replace, own)
    let (opened, held) = (staged.part, staged.held)
    let facts = try await context.writer.barrier(keepingStarts: true, making: making) {
      guard let part = opened ?? held?.made?.part else { throw Failure(.internal, "no part file was made") }
      // The name may have become a folder or a link meanwhile, and the folder may have been moved or unmounted.
      let present = try folder.facts(name)
      try home.expect(folder, beneath: beneath)
      try part.expectInPlace()
      let isOwn = present != nil && present?.isSame(as: own) == true
      try folder.rename(part.name, to: name, keepingOld: !replaces && !isOwn)
      try part.file.setMode(mode)
      guard let facts = try folder.facts(name), facts.inode == part.record.inode else {
        throw Failure(
          .ioError,
          "`\(folder.path)/\(name)` was replaced by somebody else as soon as it was put in its place")
      }
      return facts
    }
    takeMade()
    noteBoot()
    fixChunkSize(facts.size)
    let chunks = ChunkLayout(size: facts.size, chunkSize: chunkSize).count
    book.note(.promoted(facts, remoteID: source.remoteID(of: object), chunks: chunks))
    book.dropChunkRecords()
    map = RangeMap()
    staged.promoted(inode: facts.inode, context.writeback)
    return .finished
  }

  private func takeMade() {
    guard let inode = staged.takeMade() else { return }
    tellWhole()
    book.note(.intended(inode))
  }

  /// Seconds since 1970, where the file is to have its source's time.
  private var sourceTime: Double? {
    settings.keepsSourceTime ? object.lastModified.flatMap(HTTPDate.seconds) : nil
  }
}
