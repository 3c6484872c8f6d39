import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// What a session holds that is gone on with: by the server's word, and our own where it can't be asked. What only we
/// believed in is sent again.
struct SessionTakeover {
  let scope: UploadScope
  let source: SendingSource

  /// What the session holds by its server's word; nil where it can't be asked. A credential may lack the right to ask, and a
  /// store may not know the question.
  nonisolated(nonsending) func told(
    of session: RemoteSession
  ) async throws -> Result<SessionHoldings, Failure>? {
    let told = try await scope.sink.holdings(of: session, source: source.request)
    guard case .failure(let failure)? = told, scope.traits.closesByReceipts,
      failure.code == .forbidden || [405, 501].contains(failure.httpStatus ?? 0)
    else { return told }
    return nil
  }

  nonisolated(nonsending) func held(
    _ holdings: SessionHoldings?, _ session: RemoteSession
  ) async throws -> HeldChunks {
    let record = scope.record
    let layout = source.layout(session)
    let recorded = HeldChunks(try scope.context.run.ledger.chunks(of: record.transfer.seq))
    var held: HeldChunks
    if let offset = holdings?.offset {
      held = try await beginning(upTo: min(offset, source.request.size), recorded)
    } else if let holdings {
      held = HeldChunks()
      // In order: each one then only lengthens what is held.
      for (index, chunk) in holdings.chunks.sorted(by: { $0.key < $1.key })
      where index >= 0 && index < max(1, layout.count) {
        let range = layout.count == 0 ? 0..<0 : layout.range(index)
        if let known = try await vouched(chunk, range, recorded[range.lowerBound]) { held.insert(known) }
      }
    } else {
      held = recorded
    }
    if isTouched, source.copy == nil, holdings?.offset == nil {
      held.remove(held.sorted.filter(\.digest.isEmpty))
    }
    try await checkDigests(of: held)
    let missing = recorded.sorted.filter { held[$0.offset] == nil }
    scope.context.run.writer.submit(.lostChunks(seq: record.transfer.seq, offsets: missing.map(\.offset)))
    let known = recorded.sorted.reduce(0) { $0 + ($1.attempts > 0 ? $1.length : 0) }
    record.note(.regained(held.bytes - known))
    if let holdings, holdings.offset == nil {
      // Once the session is closed, only the record tells a later attempt that the file is this upload's.
      for var chunk in held.sorted where chunk != recorded[chunk.offset] {
        chunk.attempts = max(1, chunk.attempts)
        record.keep(chunk)
      }
    }
    record.note(
      .resumed(bytes: held.bytes, chunks: held.wholeChunks(layout, order: source.abilities.order)))
    if !held.isEmpty {
      let whole = held.wholeChunks(layout, order: source.abilities.order)
      record.note(.held(contiguous: held.contiguous, chunks: whole))
    }
    scope.live.setDone(held.bytes)
    if let expiry = holdings?.expiresAt { record.note(.sessionExpires(at: expiry)) }
    return held
  }

  /// What lies before the byte that the server names; it may end within a chunk.
  private nonisolated(nonsending) func beginning(
    upTo offset: Int64, _ recorded: HeldChunks
  ) async throws -> HeldChunks {
    var known: [ChunkRecord] = []
    var position: Int64 = 0
    for record in recorded.sorted where record.offset >= position && record.offset < offset {
      known += try filling(position..<record.offset)
      known.append(record.range.upperBound <= offset ? record : try await part(of: record, upTo: offset))
      position = min(record.range.upperBound, offset)
    }
    known += try filling(position..<max(position, offset))
    return HeldChunks(known, resumedAt: offset)
  }

  /// The part of a chunk that the server kept when its request broke: the chunk's digest, recorded before it was
  /// sent, says that the source still is what was sent of it.
  private nonisolated(nonsending) func part(
    of record: ChunkRecord, upTo offset: Int64
  ) async throws -> ChunkRecord {
    let algorithms = Array(source.abilities.chunkDigests.prefix(1))
    if let algorithm = algorithms.first, !record.digest.isEmpty { try await check(record, algorithm) }
    let range = record.offset..<offset
    let part = ChunkRecord(
      offset: record.offset, length: Int64(range.count),
      digest: try await source.digests.of(range, algorithms).values.first ?? "",
      attempts: max(1, record.attempts))
    scope.record.keep(part)
    return part
  }

  /// Bytes that the server holds and that we have no record of, a kill having come first: only a source that nobody
  /// has touched since can be what they are.
  private func filling(_ range: Range<Int64>) throws(Failure) -> [ChunkRecord] {
    guard !range.isEmpty else { return [] }
    guard !isTouched else {
      throw Failure(
        .sourceChanged,
        "\(source.file.place) was touched since \(range.count) bytes of it were sent that no digest vouches for"
      )
    }
    return [ChunkRecord(offset: range.lowerBound, length: Int64(range.count), digest: "", attempts: 0)]
  }

  /// The record of a chunk that the server says it holds; nil where something speaks against it.
  nonisolated(nonsending) func vouched(
    _ chunk: HeldChunk, _ range: Range<Int64>, _ record: ChunkRecord?
  ) async throws -> ChunkRecord? {
    if let size = chunk.size, size != Int64(range.count) { return nil }
    if var record, record.range == range {
      if let theirs = chunk.receipt, let ours = record.receipt, theirs != ours { return nil }
      record.receipt = record.receipt ?? chunk.receipt
      return record
    }
    if source.copy?.isByService == true {
      // Nothing but this version of the source was ever asked for in this session.
      return ChunkRecord(
        offset: range.lowerBound, length: Int64(range.count), digest: "", receipt: chunk.receipt, attempts: 0)
    }
    // Acknowledged, and our record of it lost: its digest tells, or else the whole file's will.
    guard !chunk.digests.isEmpty || source.abilities.provesWholeFile && !isTouched else { return nil }
    var digest = ""
    if !chunk.digests.isEmpty {
      let ours = try await source.digests.of(range, Set(chunk.digests.keys).union(source.chunkDigests))
      guard chunk.digests.allSatisfy({ ours[$0.key] == $0.value }) else { return nil }
      digest = source.chunkDigest.flatMap { ours[$0] } ?? ""
    } else if let kept = source.copy?.chunkDigest {
      // The whole's checksum is made of all chunks'.
      digest = try await source.digests.of(range, [kept])[kept] ?? ""
    }
    return ChunkRecord(
      offset: range.lowerBound, length: Int64(range.count), digest: digest, receipt: chunk.receipt,
      attempts: 0)
  }

  /// Somebody had the source in hand since the upload began. Then a digest that the server can give, and may not, vouches
  /// for nothing that was sent before.
  private var isTouched: Bool {
    let now = source.file.facts
    return scope.record.progress.source.map { $0.ctime != now.ctime || $0.inode != now.inode } ?? true
  }

  /// Reads again what was sent by earlier attempts, where no digest of the server's will close the proof.
  private nonisolated(nonsending) func checkDigests(of held: HeldChunks) async throws {
    // A remote source is bound to its version.
    guard source.copy == nil || scope.context.checksEverything, let algorithm = source.chunkDigest,
      !source.abilities.provesWholeFile || isTouched || scope.context.checksEverything
    else { return }
    for record in held.sorted where !record.digest.isEmpty { try await check(record, algorithm) }
  }

  nonisolated(nonsending) func check(
    _ record: ChunkRecord, _ algorithm: DigestAlgorithm
  ) async throws {
    let now = try await source.digests.of(record.range, [algorithm])[algorithm]
    guard now != record.digest else { return }
    throw Failure(
      .sourceChanged,
      "\(source.file.place) is not what was sent of it: bytes from \(record.offset) differ",
      expected: record.digest, actual: now)
  }

  /// What the session no longer holds as it was sent, and whether anything at all is missing in it; nil where the server
  /// can't tell chunk by chunk.
  nonisolated(nonsending) func differing(
    _ held: HeldChunks, _ session: RemoteSession
  ) async throws -> (lost: [ChunkRecord], isIncomplete: Bool)? {
    guard case .success(let holdings) = try await scope.sink.holdings(of: session, source: source.request),
      holdings.offset == nil
    else { return nil }
    let layout = source.layout(session)
    var lost: [ChunkRecord] = []
    for record in held.sorted {
      let chunk = holdings.chunks[Int(record.offset / layout.chunkSize)]
      if let chunk, try await vouched(chunk, record.range, record) != nil { continue }
      lost.append(record)
    }
    return (lost, holdings.chunks.count < layout.count)
  }
}
