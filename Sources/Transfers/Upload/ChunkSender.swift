import Digests
import Endpoints
import HTTPClient
import JobModel
import LocalFiles

/// Sends chunks of one session, or the file whole without one, each until the server has it.
struct ChunkSender {
  let scope: UploadScope
  let source: SendingSource
  let proofs: ChunkProofs
  let session: RemoteSession?
  /// Told of what the server has taken.
  let tell: (UploadMachine.Event) -> Void
  /// The chunks that are on their way and those that come next.
  let coming: () -> [Int]

  /// - Parameter mayHoldMore: bytes of an earlier request for this place may still be on their way.
  nonisolated(nonsending) func send(_ chunk: UploadChunk, mayHoldMore: Bool) async throws -> ChunkReceipt? {
    // Outside of the tries to send it: what a source refuses says nothing of the sink.
    // Before it is held: those behind it wait for it, also where it never comes.
    defer { source.copy?.release(chunk) }
    try await source.copy?.hold(chunk, hashing: proofs.readDigests(in: session))
    var sending = ChunkSending(chunk, mayHoldMore: mayHoldMore)
    do {
      return try await scope.requester.retrying { tries in
        .done(try await put(&sending, tries))
      } recover: { failure, tries in
        try await recover(&sending, after: failure, tries)
      }
    } catch let failure as Failure where session != nil {
      throw sending.outcome(failure)
    }
  }

  /// One request with the chunk's bytes, and what its answer proves.
  private nonisolated(nonsending) func put(
    _ sending: inout ChunkSending, _ tries: Int
  ) async throws -> ChunkReceipt {
    let (record, sink) = (scope.record, scope.sink)
    sending.sent = 0
    let (chunk, body) = try await prepare(sending.chunk)
    if source.abilities.order == .byOffset { noteBeginning(of: chunk) }
    let clock = scope.context.client.clock
    let began = clock.now()
    do {
      let told = try await sink.put(chunk, body, session: session, source: source.request, coming: coming)
      // Whatever is found of it from here on: what stands there is the job's own.
      if session == nil, let receipt = try? told.get() { await noteWritten(receipt) }
      try source.checkWhileSending(in: session)
      let receipt = try told.get()
      try compare(receipt, chunk)
      if let token = receipt.token, scope.context.client.mask.finds(in: token) {
        throw Failure(
          .protocolViolation, "\(sink.place) answered a chunk with a secret that it was sent",
          chunk: chunk.index)
      }
      try await proofs.note(receipt, of: chunk, isWhole: session == nil)
      if scope.copiedBy == .service { scope.live.add(Int64(chunk.range.count)) }
      record.note(.discarded(max(0, body.sent - body.length)))
      if let expiry = receipt.expiresAt { tell(.expires(at: expiry)) }
      var acknowledged = chunk
      if let kept = source.chunkDigest, let hashed = body.hashed { acknowledged.digests[kept] = hashed }
      keep(acknowledged, receipt, tries)
      return receipt
    } catch {
      sending.sent = body.sent
      scope.live.add(-body.sent)
      if let failure = error as? Failure, failure.class == .sessionGone, failure.isGoneThere {
        tell(.lost(seconds: clock.now() - began))
      }
      // Nothing will look at what of it may have arrived.
      if error is CancellationError { record.note(.discarded(body.sent)) }
      throw error
    }
  }

  /// Where the answer tells nothing of what was written, and its proof will fail, it is looked at.
  private nonisolated(nonsending) func noteWritten(_ receipt: ChunkReceipt) async {
    guard scope.settings.ifExists != .replace else { return }
    var file = scope.traits.closed(nil, receipt: receipt)
    let isUntold = file.etag == nil && file.version == nil && file.digests.isEmpty
    if isUntold, (try? source.checkWhileSending(in: nil)) == nil,
      case .object(let there, _)? = try? await scope.sink.look(.once)
    {
      file = scope.traits.file(there)
    }
    source.wrote(file)
  }

  /// Hashes the chunk where the protocol wants that before the body, and keeps its bytes where the budget has room.
  private nonisolated(nonsending) func prepare(
    _ bare: UploadChunk
  ) async throws -> (UploadChunk, any SentBody) {
    var chunk = bare
    let (scope, range) = (scope, bare.range)
    let algorithms = proofs.bodyDigests(in: session)
    let moved: (Int) -> Void = { count in
      scope.count(count)
      scope.live.add(Int64(count))
    }
    if let copy = source.copy { return try await copy.body(of: bare, algorithms, moved: moved) }
    guard let file = source.local?.file else { throw Failure(.internal, "an upload has no source") }
    guard !algorithms.isEmpty else {
      return (
        chunk,
        try ChunkBody(
          file: file, range: range, loan: nil, proof: nil, keeping: source.chunkDigest?.kind, moved: moved)
      )
    }
    let loan = scope.context.uploads.budget.take(range.count, for: scope.sink.origin)
    var proof: (DigestKind, String)?
    if let loan {
      chunk.digests = try await SourceDigests.run(source.request.size, scope.context.local.pool) {
        guard try loan.fill(range, of: file) else {
          throw Failure(.sourceChanged, "`\(file.path)` changed while it was sent: it ends early")
        }
        return try ChunkDigests.of(loan.bytes, algorithms)
      }
      if session == nil { source.digests.learn(chunk.digests) }
    } else {
      // A checksum will tell that the second reading brings what the first one hashed.
      let found = try await source.digests.of(range, Set(algorithms).union([.crc32c]))
      chunk.digests = found.filter { algorithms.contains($0.key) }
      proof = found[.crc32c].map { (.crc32c, $0) }
    }
    let body = try ChunkBody(file: file, range: range, loan: loan, proof: proof, canAsk: true, moved: moved)
    return (chunk, body)
  }

  /// Records a chunk's digest before its bytes go: a server that keeps a part of them holds what nothing else vouches
  /// for after a kill.
  private func noteBeginning(of chunk: UploadChunk) {
    scope.record.keep(
      ChunkRecord(
        offset: chunk.range.lowerBound, length: Int64(chunk.range.count),
        digest: source.abilities.chunkDigests.first.flatMap { chunk.digests[$0] } ?? "", attempts: 0))
  }

  /// What the server says of the chunk that it took is compared with what was sent.
  private func compare(_ receipt: ChunkReceipt, _ chunk: UploadChunk) throws(Failure) {
    for (algorithm, theirs) in receipt.digests {
      guard let ours = chunk.digests[algorithm], ours != theirs else { continue }
      throw Failure(
        .integrityMismatch,
        "\(scope.sink.place) took chunk \(chunk.index) with another \(algorithm.rawValue)",
        chunk: chunk.index, expected: ours, actual: theirs)
    }
  }

  private func keep(
    _ chunk: UploadChunk, _ receipt: ChunkReceipt?, _ tries: Int, completes: Bool = true
  ) {
    let record = scope.record
    record.note(.tried(tries))
    let kept = ChunkRecord(
      offset: chunk.range.lowerBound, length: Int64(chunk.range.count),
      digest: source.chunkDigest.flatMap { chunk.digests[$0] } ?? "", receipt: receipt?.token,
      attempts: tries)
    tell(.held(kept))
    let whole = session.map { Int64(source.layout($0).range(chunk.index).count) } ?? kept.length
    record.record(kept, index: chunk.index, completing: completes ? whole : nil)
    record.count(scope.requester.takeTally())
    record.save()
  }

  // MARK: What arrived although its request failed

  /// Looks what has arrived although the request failed, and counts what has not as discarded.
  private nonisolated(nonsending) func recover(
    _ sending: inout ChunkSending, after failure: Failure, _ tries: Int
  ) async throws -> Recovery<ChunkReceipt?> {
    scope.record.note(.tried(tries))
    var discarded = sending.sent
    defer { scope.record.note(.discarded(discarded)) }
    if let limit = failure.chunkLimit { source.limitChunks(to: limit) }
    guard failure.class != .sessionGone else { return .none }
    if let (part, receipt) = try await rescued(of: sending.chunk, failure, sending.mayHoldMore) {
      let (count, end) = (Int64(part.range.count), part.range.upperBound)
      let isWhole = end == sending.chunk.range.upperBound
      discarded = max(0, discarded - count)
      scope.live.add(count)
      keep(part, receipt, tries, completes: isWhole)
      if isWhole { return .done(nil) }
      sending.advance(to: end)
      return .remainder
    }
    if let damage = sending.damage, session != nil, failure.isOfWhatCantBeReplaced {
      throw damage.classed(.sessionGone)
    }
    sending.note(failure)
    return scope.sink.mends(failure, of: sending.chunk.index) ? .again : .none
  }

  /// The part of a chunk that the server has, although its request failed; nil where that is not known to be any.
  private nonisolated(nonsending) func rescued(
    of chunk: UploadChunk, _ failure: Failure, _ mayHoldMore: Bool
  ) async throws -> (part: UploadChunk, receipt: ChunkReceipt?)? {
    guard let session, failure.mayHaveArrived(countsBytes: source.abilities.order == .byOffset),
      let (range, receipt) = try await arrived(of: chunk, session)
    else { return nil }
    if failure.code == .chunkConflict, !mayHoldMore {
      throw foreign(range.upperBound, chunk.range.lowerBound)
    }
    let digests = try await source.digests.of(range, source.chunkDigests)
    return (UploadChunk(index: chunk.index, range: range, digests: digests), receipt)
  }

  /// What the server has of a chunk all the same; nil where it can't be asked now.
  private nonisolated(nonsending) func arrived(
    of chunk: UploadChunk, _ session: RemoteSession
  ) async throws -> (Range<Int64>, ChunkReceipt?)? {
    let told: Result<SessionHoldings, Failure>?
    do {
      told = try await scope.sink.holdings(of: session, source: source.request)
    } catch {
      try Task.checkCancellation()
      return nil
    }
    guard case .success(let holdings) = told else { return nil }
    let range = chunk.range
    if let offset = holdings.offset {
      guard offset >= range.lowerBound else {
        throw Failure(
          .protocolViolation,
          "\(scope.sink.place) holds \(offset) bytes, fewer than the \(range.lowerBound) that it had taken",
          class: .sessionGone)
      }
      guard offset <= range.upperBound else { throw foreign(offset, range.upperBound) }
      return offset > range.lowerBound ? (range.lowerBound..<offset, nil) : nil
    }
    let takeover = SessionTakeover(scope: scope, source: source)
    guard let there = holdings.chunks[chunk.index],
      let record = try await takeover.vouched(there, range, nil)
    else { return nil }
    return (range, ChunkReceipt(token: record.receipt))
  }

  private func foreign(_ offset: Int64, _ sent: Int64) -> Failure {
    Failure(
      .chunkConflict,
      "\(scope.sink.place) holds \(offset) bytes, \(sent) were sent: another client writes there",
      class: .sessionGone)
  }
}

extension Failure {
  /// Some stores can't replace a part that came damaged (`rclone serve s3` has passed it on): only a new upload can.
  fileprivate var isOfWhatCantBeReplaced: Bool { code == .protocolViolation && isUnimplemented }

  /// Nobody knows whether the bytes arrived; a server that counts bytes may also have kept some of them.
  fileprivate func mayHaveArrived(countsBytes: Bool) -> Bool {
    switch code {
    case .networkUnreachable, .timeout: true
    case .serverError, .chunkConflict: countsBytes
    default: false
    }
  }
}
