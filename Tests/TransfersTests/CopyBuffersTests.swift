import Digests
import Endpoints
import JobModel
import Synchronization
import Testing

@testable import Transfers

/// The buffers that all copies share: no server keeps copies to others from them for ever.
@Suite(.timeLimit(.minutes(5)))
struct CopyBuffersTests {
  private static let part: Int64 = 5 << 20
  /// Three parts.
  private static let large =
    [UInt8](repeating: 7, count: Int(part)) + [UInt8](repeating: 9, count: Int(part)) + pattern(1000)

  /// No source vouches for it.
  private static let unexpected = JobModel.Expectation(
    digests: [.sha512: String(repeating: "0", count: 128)])

  /// Another server holds all of it: the chunks pass from one request to the other, several at once, and are proved as
  /// they would be.
  @Test(arguments: ["other:dst", "store:dst"]) func whereAnotherServerHoldsThem(_ destination: String)
    async throws
  {
    let buffers = BufferBudget(patience: 0)
    let held = try #require(buffers.take(buffers.capacity, for: "slow"))
    let (rig, store) = (
      try Rig(.copy, chunkSize: Self.part) { $0.policy.keepsChunksInFlight = true }, FakeStore()
    )
    store.put("h/b/src", Self.large, ["x-amz-meta-owner": "anna"])
    let outcome = try await rig.run(
      from: "store:src", to: destination,
      expect: JobModel.Expectation(digests: [.sha256: FakeServer.sha256(Self.large)]), buffers: buffers
    ) { store.response($0) }
    withExtendedLifetime(held) {}
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(store[destination == "other:dst" ? "o/b/dst" : "h/b/dst"]?.bytes == Self.large)
    let expected = Verification("sha256", .manifest, .match)
    #expect(outcome.progress.verification.contains(expected), "it is known before the file appears")
    // Each part is read for its digests, and once more to be sent; nothing is read a third time.
    let reads = outcome.sent.filter { $0.method == "GET" && $0.path == "/b/src" }
    let ranges = reads.compactMap { $0.headers["Range"] }
    #expect(ranges.count == 6 && Set(ranges).count == 3, "\(ranges)")
  }

  /// Parts that fit no buffer are read twice: what the source vouches for, and what the manifest expects, is compared before the
  /// object appears.
  @Test(arguments: [(false, false), (true, false), (false, true)])
  func partsLargerThanTheBuffers(_ isDamaged: Bool, _ isUnexpected: Bool) async throws {
    let (rig, source, store) = (try Rig(.copy, chunkSize: Self.part), CopyStore(), FakeStore())
    try source.put("src", Self.large, checksum: .sha256)
    let outcome = try await rig.run(
      from: "store:src", to: "other:dst", expect: isUnexpected ? Self.unexpected : JobModel.Expectation(),
      buffers: BufferBudget(bytes: 1 << 20)
    ) { sent in
      guard sent.url.host == "h" else { return store.response(sent) }
      var reply = source.response(sent)
      // The same in both readings.
      if isDamaged, sent.headers["Range"]?.hasPrefix("bytes=0-") == true { reply.body[0] ^= 1 }
      return reply
    }
    let isGood = !isDamaged && !isUnexpected
    #expect(outcome.state == (isGood ? .completed : .failed))
    #expect(outcome.code == (isGood ? nil : .integrityMismatch))
    #expect(store["o/b/dst"]?.bytes == (isGood ? Self.large : nil))
    let vouched = Verification("sha256-of-source", .server, isDamaged ? .mismatch : .match)
    #expect(outcome.progress.verification.contains(vouched), "\(outcome.progress.verification)")
    guard isGood else { return }
    // The last part is held.
    let reads = outcome.sent.filter { $0.method == "GET" && $0.headers["Range"] != nil }
    #expect(reads.count == 5)
    // What is read for its digests, or to be held, waits for its host also while another part passes.
    #expect(reads.count { $0.isPaired } == 2)
  }

  /// A store that answers with nothing but ETags: what came damaged is sent again, also where it fits no buffer.
  @Test(arguments: [true, false]) func damageThatAnETagTells(_ isInParts: Bool) async throws {
    let rig = try Rig(.copy, chunkSize: Self.part) { $0.verify = .required }
    let (source, store) = (FakeStore(), FakeStore())
    let isBegun = Mutex(false)
    let bytes = isInParts ? Self.large : pattern(2 << 20)
    source.put("h/b/src", bytes)
    let outcome = try await rig.run(
      from: "store:src", to: "other:dst", buffers: BufferBudget(bytes: 1 << 20)
    ) { sent in
      guard sent.url.host == "o" else { return source.response(sent) }
      var arrived = sent
      let isFirst =
        sent.method == "PUT"
        && isBegun.withLock { begun in
          defer { begun = true }
          return !begun
        }
      if isFirst { arrived.body[0] ^= 1 }
      var reply = store.response(arrived)
      for name in ["x-amz-checksum-crc64nvme", "x-amz-checksum-type"] { reply.headers.remove(name) }
      return reply
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(store["o/b/dst"]?.bytes == bytes)
    let proof = Verification(isInParts ? "md5-of-parts" : "md5", .server, .match)
    #expect(outcome.progress.verification.contains(proof), "\(outcome.progress.verification)")
  }

  /// A source that turns out to serve no ranges is one stream, whose chunks have to be held: the copy begins anew with such.
  @Test func aStreamOfLargeParts() async throws {
    let (rig, store) = (try Rig(.copy, chunkSize: 8 << 20), FakeStore())
    let bytes = [UInt8](repeating: 7, count: 17 << 20)
    store.put("h/b/src", bytes)
    let outcome = try await rig.run(
      from: "store:src", to: "other:dst", buffers: BufferBudget(bytes: 6 << 20)
    ) { sent in
      var sent = sent
      sent.headers.remove("Range")
      return store.response(sent)
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(store["o/b/dst"]?.bytes == bytes)
    #expect(store.state.withLock { $0.opened == 2 && $0.aborted == 1 && $0.uploads.isEmpty })
  }

  /// What an earlier attempt copied is read again for the manifest's digest before the object appears.
  @Test func aResumedCopyOfOtherBytesThanExpected() async throws {
    let (rig, store) = (try Rig(.copy, chunkSize: Self.part), FakeStore())
    store.put("h/b/src", Self.large)
    let killed = try await rig.run(
      from: "store:src", to: "other:dst",
      stopAfter: { event in
        guard case .chunk = event else { return false }
        return true
      }, response: { store.response($0) })
    #expect(killed.state == .paused(.interrupted) && killed.progress.session != nil)
    let next = try await rig.run(from: "store:src", to: "other:dst", expect: Self.unexpected) {
      store.response($0)
    }
    #expect(next.code == .integrityMismatch && store["o/b/dst"] == nil)
  }

  /// Chunks that wait for their turn behind one that never comes do not wait for ever.
  @Test func aChunkThatNeverComes() async throws {
    let buffers = BufferBudget(patience: 0)
    let held = try #require(buffers.take(buffers.capacity, for: "slow"))
    let (rig, store) = (
      try Rig(.copy, chunkSize: Self.part) { $0.policy.keepsChunksInFlight = true }, FakeStore()
    )
    store.put("h/b/src", Self.large)
    let outcome = try await rig.run(from: "store:src", to: "other:dst", buffers: buffers) { sent in
      let isFirst = sent.path == "/b/src" && sent.headers["Range"]?.hasPrefix("bytes=0-") == true
      return isFirst ? .status(500) : store.response(sent)
    }
    withExtendedLifetime(held) {}
    #expect(outcome.state == .paused(.retries) && store["o/b/dst"] == nil)
  }

  /// The only request of a copy is its whole.
  @Test func oneRequest() async throws {
    let buffers = BufferBudget(patience: 0)
    let held = try #require(buffers.take(buffers.capacity, for: "slow"))
    let (rig, server, bytes) = (try Rig(.copy, chunkSize: Self.part), FakeServer(), pattern(3000))
    server.put("a", bytes, tag: "\"1\"")
    let outcome = try await rig.run(from: "http://h/f/a", to: "api:b", buffers: buffers) {
      server.response($0)
    }
    withExtendedLifetime(held) {}
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(server.file("b") == bytes && outcome.progress.digests[.sha256] == FakeServer.sha256(bytes))
  }

  /// A copy within one service has its share of the buffers where its bytes pass through haul, and there alone.
  @Test(arguments: [true, false]) func whatOneServiceIsLeft(_ copies: Bool) async throws {
    let (buffers, bytes) = (BufferBudget(), pattern(3000))
    let seen = Mutex<Set<String>>([])
    let (rig, store) = (try Rig(.copy, chunkSize: 8 << 20), CopyStore())
    try store.put("a", bytes, checksum: .crc64nvme)
    let outcome = try await rig.run(from: "store:a", to: "store:c", buffers: buffers) { sent in
      if sent.method == "PUT" { seen.withLock { $0.formUnion(buffers.copiedTo) } }
      let isCopy = sent.headers["x-amz-copy-source"] != nil
      return isCopy && !copies
        ? .status(501, [:], "<Error><Code>NotImplemented</Code></Error>") : store.response(sent)
    }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(outcome.progress.copiedBy == (copies ? .service : .relay) && store.bytes("c") == bytes)
    let servers = seen.withLock { $0 }
    #expect(servers == (copies ? [] : ["http://h"]) && buffers.copiedTo.isEmpty)
  }
}
