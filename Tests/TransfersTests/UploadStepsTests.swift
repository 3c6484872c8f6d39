import Digests
import Endpoints
import JobLedger
import JobModel
import Synchronization
import Testing

@testable import Transfers

/// The steps that an upload's actor carries out, each by itself.
struct UploadStepsTests {
  private let content = pattern(2_500)
  private let session = RemoteSession(id: "s1", chunkSize: 1000)

  private func record(_ offset: Int64, _ length: Int64 = 1000, attempts: Int = 1) throws -> ChunkRecord {
    let bytes = Array(content[Int(offset)..<Int(offset + length)])
    return ChunkRecord(
      offset: offset, length: length, digest: try Digest.hex(of: bytes, .sha256), attempts: attempts)
  }

  // MARK: Sessions

  @Test func aSessionIsIntendedBeforeItIsAskedFor() async throws {
    let server = FakeServer()
    let context = Mutex<TransferContext?>(nil)
    let intended = Mutex<[Int]>([])
    let bench = try UploadBench(source: content) { sent in
      let known = context.withLock { $0 }.flatMap { try? $0.run.ledger.intents(of: 1).count } ?? 0
      intended.withLock { $0.append(known) }
      return server.response(sent)
    }
    context.withLock { $0 = bench.context }
    let source = try bench.sending()
    let opening = SessionOpening(scope: bench.scope, source: source)
    let (session, isReplayed) = try await opening.open(renewing: nil, lost: 0)
    #expect(session.id == "s1" && !isReplayed && intended.withLock { $0 } == [1])
    #expect(bench.record.progress.session == session && bench.record.progress.sessionState == .open)
    try await bench.context.run.writer.barrier()
    #expect(try bench.context.run.ledger.intents(of: 1).isEmpty)
    #expect(try bench.context.run.ledger.hasSession("s1"))
    // Another one, after a loss, has another key; one that holds what another held has none.
    _ = try await opening.open(renewing: nil, lost: 1)
    _ = try await opening.open(renewing: session, lost: 1)
    let keys = bench.transport.sent.map { $0.headers["Idempotency-Key"] }
    #expect(keys.count == 3 && keys[0] != nil && keys[0] != keys[1] && keys[2] == nil)
    // And one that is promised another digest.
    source.recorded = [.sha256: "d"]
    _ = try await opening.open(renewing: nil, lost: 0)
    #expect(bench.transport.sent.last?.headers["Idempotency-Key"] != keys[0])
    context.withLock { $0 = nil }
  }

  /// A store that is asked what is open knows ours by its time, while it is empty: its record comes before its parts.
  @Test func aListedSessionIsOnRecordBeforeItsParts() async throws {
    var bucket = S3Settings()
    (bucket.bucket, bucket.addressing, bucket.multipartThreshold) = ("b", .path, 1)
    let bench = try UploadBench(S3Driver(bucket), source: content) { _ in
      .status(
        200, [:], "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
    }
    let opening = SessionOpening(scope: bench.scope, source: try bench.sending())
    let (session, _) = try await opening.open(renewing: nil, lost: 0)
    #expect(session.id == "u" && bench.transport.sent.count == 1)
    #expect(
      try bench.context.run.ledger.hasSession("u"), "a kill behind this leaves nothing that is not known")
    #expect(try bench.context.run.ledger.intents(of: 1).isEmpty)
  }

  @Test func theServersLimitIsAskedForNext() async throws {
    let server = FakeServer { $0.maxChunk = 700 }
    let bench = try UploadBench(source: content) { server.response($0) }
    let source = try bench.sending()
    let opened = try await SessionOpening(scope: bench.scope, source: source).open(renewing: nil, lost: 0)
    #expect(opened.session.chunkSize == 700 && source.request.chunkSize == 700)
    #expect(bench.context.uploads.chunkLimits["http://h"] == 700)
    let keys = Set(bench.transport.sent.map { $0.headers["Idempotency-Key"] })
    #expect(keys.count == 2, "a key belongs to one request")
    #expect(bench.transport.sent.count == 2, "what was refused is not asked for again")
  }

  @Test(arguments: [(400, true), (413, true), (422, true), (401, false), (403, false), (500, false)])
  func aRefusedSessionIsForgotten(_ status: Int, _ isForgotten: Bool) async throws {
    let bench = try UploadBench(source: content) { _ in .status(status) }
    let opening = SessionOpening(scope: bench.scope, source: try bench.sending())
    let failure = try await UploadBench.failure { _ = try await opening.open(renewing: nil, lost: 0) }
    #expect(failure != nil)
    try await bench.context.run.writer.barrier()
    #expect(try bench.context.run.ledger.intents(of: 1).isEmpty == isForgotten)
  }

  @Test func abandoning() async throws {
    for (status, isLeft) in [(204, false), (403, true)] {
      let bench = try UploadBench(source: content) { _ in .status(status) }
      bench.record.note(.opened(session, nil))
      bench.record.save()
      bench.record.keep(try record(0))
      await SessionIntents(scope: bench.scope).abandon()
      #expect(bench.transport.sent.map(\.method) == ["DELETE"])
      #expect(bench.record.progress.session == nil)
      bench.record.save()
      #expect(try await bench.chunks().isEmpty)
      #expect(try bench.context.run.ledger.hasSession("s1") == isLeft, "what is left is on record")
    }
  }

  // MARK: What a session holds

  private func takeover(
    of driver: any EndpointDriver = SessionDriver(), _ records: [ChunkRecord], touched: Bool = false,
    _ holdings: SessionHoldings?
  ) async throws -> (held: HeldChunks?, failure: Failure?, progress: TransferProgress, chunks: [Int64]) {
    let bench = try UploadBench(driver, source: content)
    let source = try bench.sending()
    if !touched { bench.record.note(.source(source.file.facts)) }
    for record in records { bench.record.keep(record) }
    try await bench.context.run.writer.barrier()
    var held: HeldChunks?
    let failure = try await UploadBench.failure {
      held = try await SessionTakeover(scope: bench.scope, source: source).held(holdings, session)
    }
    return (held, failure, bench.record.progress, try await bench.chunks())
  }

  @Test func theServersWordCounts() async throws {
    let (held, _, progress, chunks) = try await takeover(
      [record(0), record(1000)], SessionHoldings(chunks: [0: HeldChunk(), 2: HeldChunk(), 9: HeldChunk()]))
    #expect(held?.sorted.map(\.offset) == [0, 2000] && chunks == [0, 2000])
    #expect(progress.reused == 1500 && progress.chunksReused == 2)
    // A size or a digest that speaks against a chunk.
    let bad = SessionHoldings(chunks: [0: HeldChunk(size: 999), 1: HeldChunk(digests: [.md5: "0"])])
    #expect(try await takeover([], bad).held?.isEmpty == true)
  }

  /// A digest that the server can give, and may not, vouches for nothing that was sent before somebody touched the source.
  @Test func whatATouchedSourceHasIsCompared() async throws {
    let all = SessionHoldings(chunks: [0: HeldChunk(), 1: HeldChunk()])
    var (same, other) = (try record(0), try record(1000))
    same.digest = try Digest.hex(of: Array(content[..<1000]), .sha256)
    other.digest = String(repeating: "0", count: 64)
    #expect(try await takeover([same, other], all).held?.bytes == 2000)
    #expect(try await takeover([same], touched: true, all).held?.bytes == 1000)
    #expect(try await takeover([same, other], touched: true, all).failure?.code == .sourceChanged)
  }

  @Test func ourOwnWhereItCantBeAsked() async throws {
    let (held, _, _, _) = try await takeover(of: PresignedDriver(), [], nil)
    #expect(held?.isEmpty == true)
    var mine = try record(0)
    mine.digest = try Digest.hex(of: Array(content[..<1000]), .md5)
    #expect(try await takeover(of: PresignedDriver(), [mine], nil).held?.bytes == 1000)
    // Bytes that nothing but their digests vouches for are read again.
    mine.digest = String(repeating: "0", count: 32)
    #expect(try await takeover(of: PresignedDriver(), [mine], nil).failure?.code == .sourceChanged)
  }

  @Test func bytesOfAChunk() async throws {
    let (held, _, progress, _) = try await takeover(
      of: TusDriver(), [record(0), record(1000, attempts: 0)], SessionHoldings(offset: 1300))
    #expect(held?.contiguous == 1300 && held?.resumedAt == 1300 && progress.chunksReused == 1)
    #expect(held?[1000]?.length == 300 && held?[1000]?.attempts == 1)
    // What no record is of is what an untouched source has there.
    #expect(try await takeover(of: TusDriver(), [], SessionHoldings(offset: 1300)).held?.contiguous == 1300)
    let touched = try await takeover(of: TusDriver(), [], touched: true, SessionHoldings(offset: 1300))
    #expect(touched.failure?.code == .sourceChanged)
  }

  @Test func whatDiffers() async throws {
    let bench = try UploadBench(source: content) { _ in
      .status(200, [:], #"{"receivedChunks":[0,2],"fileSize":2500,"chunkSize":1000}"#)
    }
    let takeover = SessionTakeover(scope: bench.scope, source: try bench.sending())
    let held = HeldChunks([try record(0), try record(1000)])
    let found = try await takeover.differing(held, session)
    #expect(found?.lost.map(\.offset) == [1000] && found?.isIncomplete == true)
    let silent = try UploadBench(PresignedDriver(), source: content)
    let nothing = try await SessionTakeover(scope: silent.scope, source: try silent.sending())
      .differing(held, session)
    #expect(nothing == nil)
  }

  // MARK: Chunks

  private func send(
    _ server: FakeServer, _ response: @escaping @Sendable (Sent) -> Reply
  ) async throws -> (held: [ChunkRecord], failure: Failure?, bench: UploadBench) {
    let bench = try UploadBench(source: content, response: response)
    let source = try bench.sending()
    let (opened, _) = try await SessionOpening(scope: bench.scope, source: source).open(
      renewing: nil, lost: 0)
    var held: [ChunkRecord] = []
    let sender = ChunkSender(
      scope: bench.scope, source: source, proofs: ChunkProofs(bench.scope, source), session: opened
    ) { event in
      if case .held(let record) = event { held.append(record) }
    } coming: {
      []
    }
    let failure = try await UploadBench.failure {
      _ = try await sender.send(UploadChunk(index: 1, range: 1000..<2000), mayHoldMore: false)
    }
    return (held, failure, bench)
  }

  @Test func aChunkIsRecorded() async throws {
    let server = FakeServer()
    let (held, failure, bench) = try await send(server) { server.response($0) }
    let expected = try record(1000)
    #expect(failure == nil && held == [expected])
    #expect(try await bench.chunks() == [1000])
    #expect(bench.record.progress.transferred == 1000 && bench.record.progress.discarded == 0)
  }

  @Test func aLostAnswerIsAskedFor() async throws {
    let server = FakeServer()
    let (held, failure, bench) = try await send(server) { sent in
      let reply = server.response(sent)
      return sent.method == "PUT" ? .broken() : reply
    }
    #expect(failure == nil && held.map(\.offset) == [1000])
    #expect(bench.transport.sent.map(\.method) == ["POST", "PUT", "GET"])
    #expect(bench.record.progress.discarded == 0)
  }

  @Test func whatDidNotArriveIsSentAgain() async throws {
    let server = FakeServer()
    let (held, failure, bench) = try await send(server) { sent in
      sent.number == 2 ? .status(503) : server.response(sent)
    }
    #expect(failure == nil && held.map(\.attempts) == [2])
    #expect(bench.record.progress.transferred == 2000 && bench.record.progress.discarded == 1000)
    let (none, refused, _) = try await send(server) { sent in
      sent.method == "PUT" ? .status(403) : server.response(sent)
    }
    #expect(none.isEmpty && refused?.code == .forbidden)
  }

  // MARK: Proof

  @Test func answersThatProve() async throws {
    let bench = try UploadBench(source: content)
    let source = try bench.sending()
    let proofs = ChunkProofs(bench.scope, source)
    let md5 = try Digest.hex(of: content, .md5)
    let chunk = UploadChunk(index: 0, range: 0..<2500)
    let held = HeldChunks([try record(0, 2500)])
    #expect(proofs.bodyDigests(in: session) == [.sha256])
    try await proofs.note(ChunkReceipt(likelyMD5: md5), of: chunk, isWhole: false)
    #expect(try await proofs.checks(of: held) == [Verification("md5", .server, .match)])
    #expect(proofs.bodyDigests(in: session) == [.sha256, .md5])
    proofs.forget()
    #expect(try await proofs.checks(of: held).isEmpty)
    // This endpoint's ETags are MD5s: another one is damage.
    let failure = try await UploadBench.failure {
      try await proofs.note(
        ChunkReceipt(likelyMD5: String(repeating: "0", count: 32)), of: chunk, isWhole: false)
    }
    #expect(failure?.class == .damaged(chunk: 0) && failure?.expected == md5)
    var hashed = chunk
    hashed.digests = [.sha256: "d"]
    try await proofs.note(ChunkReceipt(digests: [.sha256: "d"]), of: hashed, isWhole: false)
    #expect(try await proofs.checks(of: held) == [Verification("sha256", .server, .match)])
  }

  @Test(
    arguments: [
      (VerifyLevel.available, 2500, true, nil), (.available, 2499, true, .lengthMismatch),
      (.available, 2500, false, .integrityMismatch), (.required, 2500, true, nil),
      (.required, 2500, nil, .digestUnavailable), (.available, 2500, nil, nil), (.size, 2500, nil, nil),
      (.size, 1, nil, .lengthMismatch), (.readback, 2500, true, nil),
    ] as [(VerifyLevel, Int, Bool?, ErrorCode?)])
  func proving(_ verify: VerifyLevel, _ size: Int, _ matches: Bool?, _ code: ErrorCode?) async throws {
    let content = content
    let digest = try #require(Hex.decode(FakeServer.sha256(matches == false ? [1] : content)))
    let bench = try UploadBench(HTTPDriver(), source: content) { sent in
      var headers: HeaderList = ["Content-Length": "\(size)"]
      if matches != nil { headers.append("Repr-Digest", "sha-256=:\(Base64.encode(digest)):") }
      return Reply(status: 200, headers: headers, body: content)
    } change: {
      $0.verify = verify
    }
    let source = try bench.sending()
    let proof = UploadProof(scope: bench.scope, source: source, proofs: ChunkProofs(bench.scope, source))
    let failure = try await UploadBench.failure { try await proof.prove(UploadedFile(), HeldChunks()) }
    #expect(failure?.code == code)
    if code == nil {
      let progress = bench.record.progress
      #expect(progress.source == source.file.facts && progress.isSynced)
      #expect(progress.verification.allSatisfy { $0.result != .mismatch } && !progress.verification.isEmpty)
    }
  }

  // MARK: What stands there

  @Test func whoseFileItIs() async throws {
    for (bytes, isOurs) in [(content, true), (pattern(2_500, seed: 3), false), (pattern(9), false)] {
      for tells in [true, false] {
        let server = FakeServer {
          $0.files["a.txt"] = bytes; $0.givesDigests = tells
        }
        let bench = try UploadBench(HTTPDriver(), source: content) { sent in
          var sent = sent
          sent.url.path = "/f/a.txt"
          return server.response(sent)
        }
        let source = try bench.sending()
        let look = DestinationLook(scope: bench.scope, source: source)
        let file = try await look.uploaded(nil, [], try await source.digests.whole())
        #expect((file != nil) == isOurs, "by its digest, or by its bytes")
        let unknown = try await look.uploaded(nil, [], [:])
        #expect(unknown == nil)
      }
    }
  }

  private func settle(
    _ rule: ExistsRule, there: [UInt8]?, _ change: (UploadBench) throws -> Void = { _ in }
  ) async throws -> String {
    let server = FakeServer { $0.files["a.txt"] = there }
    let bench = try UploadBench(source: content) {
      server.response($0)
    } change: {
      $0.ifExists = rule
    }
    try change(bench)
    var found = ""
    let failure = try await UploadBench.failure {
      switch try await UploadSettling(scope: bench.scope, source: try bench.sending()).find() {
      case .end(let end): found = "\(end)"
      case .uploaded: found = "uploaded"
      case .mustMove: found = "must move"
      }
    }
    return failure?.code.rawValue ?? found
  }

  @Test func settling() async throws {
    for (rule, other) in [
      (ExistsRule.replace, "must move"), (.keep, "skipped(JobModel.TransferState.SkipReason.exists)"),
      (.fail, "DESTINATION_EXISTS"),
    ] {
      #expect(try await settle(rule, there: nil) == "must move")
      #expect(try await settle(rule, there: [1]) == other)
      #expect(
        try await settle(rule, there: content).hasPrefix("settled"), "its digest says that it is this one")
    }
  }

  @Test func aCompletionThatStands() async throws {
    let facts: (UploadBench) throws -> Void = { bench in
      let source = try bench.sending()
      source.complete(UploadedFile(), digests: [.sha256: FakeServer.sha256(self.content)])
      bench.record.note(.completed(at: 1))
    }
    #expect(try await settle(.replace, there: content, facts) == "settled(nil)")
    #expect(try await settle(.replace, there: nil, facts) == "must move")
    #expect(try await settle(.replace, there: [1], facts) == "must move")
    let changed = try await settle(.replace, there: content) { bench in
      try facts(bench)
      try bench.write(pattern(2_500, seed: 9))
    }
    #expect(changed == "must move")
  }
}
