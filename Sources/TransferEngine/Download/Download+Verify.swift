import Digests
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// Proving that what is in the part file is what was promised, and putting it in its place.
extension Download {
  func verify() async throws {
    let file = try requireDestination().path
    let verification = DownloadVerification(book, of: source.place)
    let size = try verification.checkSize(try staged.count(), told: object.size, in: file)
    let found = try await staged.takeDigest(size: size)()
    book.note(.hashed(found))
    try verification.checkDigests(found, promised: object.digests)
    try await verification.checkType(size: size, on: context.pool, try staged.reader())
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

  /// Every check has passed: puts the file in its place, and reports the completion as not yet synced.
  func promote() async throws -> TransferEnd {
    guard !staged.isEmpty else { throw Failure(.internal, "there is nothing to promote") }
    // A doubt about the file that stands there outlives an intent that comes to nothing.
    if !book.isDoubtful { book.noteBoot() }
    book.count(requester.takeTally())
    noteProgress()
    let facts = try await takeName()
    book.noteBoot()
    fixChunkSize(facts.size)
    let chunks = ChunkLayout(size: facts.size, chunkSize: chunkSize).count
    book.note(.promoted(facts, remoteID: source.remoteID(of: object), chunks: chunks))
    book.dropChunkRecords()
    map = RangeMap()
    staged.promoted(inode: facts.inode, context.writeback)
    return .finished
  }

  private func takeName() async throws -> FileFacts {
    defer {
      if let inode = staged.takeMade() {
        tellWhole()
        book.note(.intended(inode))
      }
    }
    let time = settings.keepsSourceTime ? object.lastModified.flatMap(HTTPDate.seconds) : nil
    return try await Promotion(
      record: book, destination: try requireDestination(), staged: staged, own: own, time: time
    ).run()
  }
}
