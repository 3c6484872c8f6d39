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
