import Digests
import Endpoints
import JobModel
import Testing
import Transfers

/// Uploads and copies that are complete, or there already, and what the manifest expects of them.
struct RenewedExpectationTests {
  private let old = pattern(1_000)
  private let new = pattern(2_000, seed: 1)

  private func expect(_ bytes: [UInt8], alsoSHA512: Bool = false) -> JobModel.Expectation {
    var digests: [DigestAlgorithm: String] = [.sha256: FakeServer.sha256(bytes)]
    if alsoSHA512 { digests[.sha512] = try? Digest.hex(of: bytes, .sha512) }
    return JobModel.Expectation(digests: digests)
  }

  private func copy(
    _ rig: Rig, _ store: FakeStore, _ expect: JobModel.Expectation, _ rule: RefreshRule = .changed
  ) async throws -> Rig.Outcome {
    try await rig.run(
      from: "store:src", to: "other:dst", expect: expect, changing: { $0.refresh = rule }
    ) { store.response($0) }
  }

  private func copyBench() async throws -> (Rig, FakeStore) {
    let (rig, store) = (try Rig(.copy, chunkSize: 8 << 20), FakeStore())
    store.put("h/b/src", old)
    let outcome = try await copy(rig, store, expect(old))
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    return (rig, store)
  }

  /// A new list of checksums comes with new files.
  @Test(arguments: [RefreshRule.changed, .never]) func aCopyWhoseSourceIsRenewedToo(_ rule: RefreshRule)
    async throws
  {
    let (rig, store) = try await copyBench()
    store.put("h/b/src", new)
    let outcome = try await copy(rig, store, expect(new), rule)
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(store["o/b/dst"]?.bytes == new && outcome.progress.movedBecause == .sourceChanged)
    #expect(outcome.progress.verification.contains(Verification("sha256", .manifest, .match)))
  }

  @Test func aCopyWhoseSourceIsNotRenewed() async throws {
    let (rig, store) = try await copyBench()
    let outcome = try await copy(rig, store, expect(new))
    #expect(outcome.code == .integrityMismatch && store["o/b/dst"]?.bytes == old)
    #expect(outcome.sent.contains { $0.url.host == "h" && $0.method == "GET" })
  }

  /// Both ends tell one checksum, and none that is expected: the source is read for it.
  @Test(arguments: [true, false]) func aCopyThatIsThereAlready(_ isRight: Bool) async throws {
    let (rig, store) = (try Rig(.copy, chunkSize: 8 << 20) { $0.preserve = .available }, FakeStore())
    for name in ["h/b/src", "o/b/dst"] { store.put(name, old, ["Content-Type": "text/x"]) }
    let outcome = try await copy(rig, store, expect(isRight ? old : new))
    #expect(outcome.state == (isRight ? .upToDate(.adopted) : .failed))
    #expect(outcome.code == (isRight ? nil : .integrityMismatch))
    let result: Verification.Result = isRight ? .match : .mismatch
    #expect(outcome.progress.verification.contains(Verification("sha256", .manifest, result)))
  }

  /// Its source is read for it once.
  @Test func aDigestMore() async throws {
    let (rig, store) = try await copyBench()
    func reads(_ outcome: Rig.Outcome) -> Int {
      outcome.sent.count { $0.url.host == "h" && $0.method == "GET" }
    }
    let both = expect(old, alsoSHA512: true)
    let first = try await copy(rig, store, both)
    #expect(first.state == .upToDate(nil) && reads(first) == 1)
    let second = try await copy(rig, store, both)
    #expect(second.state == .upToDate(nil) && reads(second) == 0)
    #expect(second.progress.verification.contains(Verification("sha512", .manifest, .match)))
  }

  @Test(arguments: [true, false]) func anUploadThatIsNeverAskedFor(_ isRenewed: Bool) async throws {
    let (rig, server) = (try Rig(.upload) { $0.refresh = .never }, FakeServer())
    func run(_ bytes: [UInt8]) async throws -> Rig.Outcome {
      try await rig.run(from: "src", to: "api:a.txt", expect: expect(bytes)) { server.response($0) }
    }
    try rig.write("src", old)
    #expect(try await run(old).state == .completed)
    if isRenewed { try rig.write("src", new) }
    let outcome = try await run(new)
    #expect(outcome.state == (isRenewed ? .completed : .failed))
    #expect(outcome.code == (isRenewed ? nil : .integrityMismatch))
    #expect(server.file("a.txt") == (isRenewed ? new : old))
  }
}
