import JobModel
import Testing

struct ProgressEventTests {
  private func progress(_ events: ProgressEvent..., from base: TransferProgress = TransferProgress())
    -> TransferProgress
  {
    var progress = base
    for event in events { progress.apply(event) }
    return progress
  }

  private static let facts = FileFacts(size: 10, mtime: 1, ctime: 1, inode: 7)

  /// All that a restart may touch is there.
  private var full: TransferProgress {
    var full = progress(
      .sized(10), .chunked(4), .chosen(chunk: 5), .laidOut(chunks: 3), .moved(8),
      .resumed(bytes: 2, chunks: 1), .held(contiguous: 6, chunks: 2), .hashed([.sha256: "aa"]),
      .checked(Verification("sha256", .server, .match)), .intended(7), .completed(at: 5),
      .opened(RemoteSession(id: "s", chunkSize: 4), Self.facts))
    full.remote.etag = "\"x\""
    full.remoteID = "id"
    full.failure = Failure(.timeout, "")
    full.failedAt = 4
    return full
  }

  /// What each reason keeps, written out; what no reason keeps, and what none touches.
  @Test(arguments: RestartReason.allCases) func restarts(_ reason: RestartReason) {
    let now = progress(.restarted(reason), from: full)
    #expect(now.session == nil && now.sessionState == .none)
    #expect(now.reused == 0 && now.chunksReused == 0 && now.contiguousBytes == 0 && now.chunksCompleted == 0)
    #expect(now.transferred == 8)
    // A file whose completion does not stand may be adopted as it is.
    #expect(now.discarded == (reason == .completionGone ? 6 : 8))
    #expect(now.size == 10 && now.chunksTotal == 3 && now.source == Self.facts)
    let table: [RestartReason: (chunkSize: Bool, intent: Bool, completion: Bool, failure: Bool)] = [
      .contentChanged: (true, true, true, true), .streamBroke: (true, true, true, true),
      .damaged: (true, true, true, true), .sessionGone: (true, true, true, true),
      .partGone: (true, true, true, true), .completionGone: (true, false, false, true),
      .givenUp: (true, false, true, true), .asked: (false, false, false, false),
    ]
    let kept = table[reason]!
    #expect((now.chunkSize == 4) == kept.chunkSize && (now.automaticChunk == 5) == kept.chunkSize)
    #expect((now.intendedInode == 7) == kept.intent)
    let completion = [
      now.completedAt == 5, now.digests == [.sha256: "aa"],
      now.remote.etag == "\"x\"", now.remoteID == "id",
    ]
    #expect(completion.allSatisfy { $0 == kept.completion })
    // What comes next is other bytes; what was given up is reported as it was compared.
    #expect(now.verification.isEmpty == (reason != .givenUp))
    #expect((now.failure != nil) == kept.failure && (now.failedAt != nil) == kept.failure)
  }

  /// Sums of bytes; a kill may have kept the word of what was thrown away.
  @Test func counts() {
    #expect(progress(.moved(10), .discarded(3), .discarded(2)).discarded == 5)
    #expect(progress(.moved(10), .dropped(8), .dropped(8)).discarded == 10, "no more than was moved")
    #expect(progress(.moved(10), .discarded(3), .regained(5)).discarded == 0)
    #expect(progress(.moved(10), .discarded(3), .regained(-5)).discarded == 3)
    #expect(progress(.moved(10), .onlyHeld(4)).discarded == 6)
    #expect(progress(.moved(10), .discarded(8), .onlyHeld(4)).discarded == 8)
    #expect(progress(.onlyHeld(4)).discarded == 0, "an earlier run's are not this one's")
    let resumed = progress(.moved(10), .resumed(bytes: 4, chunks: 2))
    #expect(resumed.discarded == 6 && resumed.reused == 4 && resumed.chunksReused == 2)
    let spoilt = progress(.spoilt(bytes: 3, chunks: 1, discarded: 2), from: resumed)
    #expect(spoilt.discarded == 8 && spoilt.reused == 1 && spoilt.chunksReused == 1)
    #expect(progress(.tried(3), .tried(2)).maxChunkAttempts == 3)
    let counted = progress(
      .requested(count: 2, retries: 1, status: 200), .requested(count: 1, retries: 0, status: nil))
    #expect(counted.requests == 3 && counted.retries == 1 && counted.lastHTTPStatus == 200)
    #expect(
      progress(.resumed(bytes: 9, chunks: 9), .held(contiguous: 0, chunks: 4), .reusedAtMost(chunks: 6))
        .chunksReused == 4)
  }

  @Test func checks() {
    let proved = progress(
      .checked(Verification("sha256", .manifest, .match)),
      .checked(Verification("type", .manifest, .mismatch)),
      .checked(Verification("sha256", .server, .match)))
    #expect(progress(.unproved, from: proved).verification.isEmpty)
    let expectation = Expectation(digests: [.sha256: "aa"])
    #expect(progress(.expected(expectation), from: proved).verification.map(\.check) == ["sha256", "sha256"])
    let png = Expectation(digests: [.sha256: "aa"], type: "image/png")
    #expect(progress(.expected(png), from: proved).verification.count == 2, "what stands does not differ")
    #expect(
      progress(.expected(Expectation()), from: proved).verification == [
        Verification("sha256", .server, .match)
      ])
  }

  /// A copy's source vouches for itself alone.
  @Test func whatProves() {
    let names = ["sha256", "md5-of-parts", "readback", "etag", "size", "type", "sha256-of-source"]
    let proving = names.filter { Verification($0, .server, .match).proves }
    #expect(proving == ["sha256", "md5-of-parts", "readback", "etag"])
    #expect(!Verification("sha256", .server, .unavailable).proves)
  }

  @Test func ends() {
    let promoted = progress(.promoted(Self.facts, remoteID: "r", chunks: 3))
    #expect(promoted.destination == Self.facts && promoted.size == 10 && promoted.remoteID == "r")
    #expect(promoted.chunksTotal == 3 && promoted.chunksCompleted == 3 && promoted.contiguousBytes == 10)
    let uploaded = progress(
      .sized(10), .laidOut(chunks: 2), .opened(RemoteSession(id: "s", chunkSize: 5), nil), .finalizing,
      .uploaded(remoteID: "r", version: "v", etag: "e", [.sha256: "aa"], Self.facts))
    #expect(uploaded.session == nil && uploaded.sessionState == .closed && uploaded.isSynced)
    #expect(uploaded.remote.size == 10 && uploaded.chunksCompleted == 2 && uploaded.source == Self.facts)
    #expect(progress(.sessionEnded).sessionState == .none, "there was none")
    let checked = progress(
      .checked(Verification("size", .server, .mismatch)), .checked(Verification("size", .manifest, .match)),
      .checked(Verification("size", .server, .match)))
    #expect(checked.verification.map(\.result) == [.match, .match], "the last word of each counts")
  }
}
