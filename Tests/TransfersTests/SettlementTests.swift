import Endpoints
import JobModel
import Testing

@testable import Transfers

/// What ends a download before a byte is moved.
struct SettlementTests {
  private func end(_ bench: DownloadBench) async throws -> (end: TransferEnd?, own: FileFacts?) {
    var settlement = Settlement(
      of: bench.record, at: try bench.destination(), source: bench.source, seen: RemoteObject(),
      listed: ListedLook(bench.record, bench.intake.requester))
    return (try await settlement.end(), settlement.own)
  }

  /// Puts a file there as a completion of this transfer's.
  private func complete(_ bench: DownloadBench, _ bytes: [UInt8]) throws {
    try bench.write("out/a", bytes)
    let facts = try #require(try bench.destination().present())
    bench.record.note(.learned(bench.source.object))
    bench.record.note(.hashed([.sha256: FakeServer.sha256(bytes)]))
    bench.record.note(.promoted(facts, remoteID: nil, chunks: 1))
    bench.record.noteBoot()
    bench.record.note(.completed(at: 1))
  }

  @Test func whereNothingIsThere() async throws {
    let bench = try DownloadBench()
    let (end, own) = try await end(bench)
    #expect(end == nil && own == nil && bench.source.probes == 0)
  }

  @Test(
    arguments: [
      (.replace, nil), (.keep, .skipped(.exists)), (.fail, nil),
    ] as [(ExistsRule, TransferEnd?)]) func aStranger(_ rule: ExistsRule, _ expected: TransferEnd?)
    async throws
  {
    let bench = try DownloadBench(change: { $0.ifExists = rule })
    try bench.write("out/a", [1, 2])
    do {
      #expect(try await end(bench).end == expected && rule != .fail)
    } catch let failure as Failure {
      #expect(rule == .fail && failure.code == .destinationExists)
    }
  }

  /// What a transfer that left the manifest put there is the job's own; what somebody has changed since is not.
  @Test(
    arguments: [
      (.keep, "out/a", 0, nil), (.fail, "out/a", 0, nil), (.keep, "out/b", 0, .skipped(.exists)),
      (.keep, "out/a", 1, .skipped(.exists)),
    ] as [(ExistsRule, String, Int64, TransferEnd?)])
  func whatOneThatLeftWrote(
    _ rule: ExistsRule, _ path: String, _ older: Int64, _ expected: TransferEnd?
  ) async throws {
    let bench = try DownloadBench([1, 2], change: { $0.ifExists = rule })
    try bench.write("out/a", [3, 4])
    let present = try #require(try bench.destination().present())
    var recorded = present
    recorded.mtime -= older
    try await bench.add("u", wrote: recorded, at: path, isLive: false)
    let (end, own) = try await end(bench)
    #expect(end == expected && own == (expected == nil ? present : nil))
  }

  /// Two parts may be given one name by a server; a name that the manifest gives is the planner's to compare.
  @Test(arguments: [("out/", "other", true), ("out/", "t", false), ("out/a", "other", false)])
  func whatAnotherPartWroteIsKept(_ destination: String, _ owner: String, _ isKept: Bool) async throws {
    let bench = try DownloadBench(to: destination, ownerElsewhere: { _ in owner })
    try bench.write("out/a", [1, 2])
    do {
      #expect(try await end(bench).end == nil && !isKept)
    } catch let failure as Failure {
      #expect(failure.code == .destinationExists && isKept, "\(failure)")
    }
  }

  /// Also where the manifest said something wrong of it before.
  @Test func whatIsWantedIsAdopted() async throws {
    let digest = FakeServer.sha256([1, 2])
    let bench = try DownloadBench(expect: JobModel.Expectation(digests: [.sha256: digest]))
    try bench.write("out/a", [1, 2])
    bench.record.note(.checked(Verification("size", .manifest, .mismatch)))
    #expect(try await end(bench).end == .settled(.adopted))
    #expect(bench.source.probes == 0 && bench.record.progress.digests == [.sha256: digest])
    #expect(bench.record.progress.verification == [Verification("sha256", .manifest, .match)])
  }

  @Test func aCompletionStands() async throws {
    let bench = try DownloadBench([1, 2])
    try complete(bench, [1, 2])
    let (end, own) = try await end(bench)
    #expect(end == .settled(nil) && own != nil && bench.source.probes == 1)
    #expect(bench.record.progress.reused == 2)
  }

  @Test func theSourceHasChanged() async throws {
    let bench = try DownloadBench([1, 2], change: { $0.ifExists = .fail })
    try complete(bench, [1, 2])
    bench.source.object.etag = "\"2\""
    let (end, own) = try await end(bench)
    #expect(end == nil && own != nil && bench.record.fallen == .sourceChanged)
    #expect(bench.record.progress.completedAt == nil)
  }

  /// A server that was moved gives its files new tags; of a file that the manifest's digest vouched for nothing is known there.
  @Test(arguments: [true, false], [true, false])
  func theSameBytesAtTheSource(_ wasAsked: Bool, _ areTold: Bool) async throws {
    let bench = try DownloadBench([1, 2])
    try complete(bench, [1, 2])
    if !wasAsked { bench.record.note(.learned(RemoteObject())) }
    bench.source.object.etag = "\"2\""
    bench.source.object.digests = [.sha256: FakeServer.sha256(areTold ? [1, 2] : [3, 4])]
    let wanted: TransferEnd? = areTold ? .settled(nil) : nil
    #expect(try await end(bench).end == wanted)
    #expect(bench.record.fallen == (areTold ? nil : .sourceChanged))
    #expect((bench.record.progress.remote.etag == "\"2\"") == areTold && bench.source.reads.isEmpty)
  }

  /// `verify: required` came later: what the source tells proves the file, or speaks against it; its bytes come with more.
  @Test(
    arguments: [
      ([:], .asked), ([.sha256: FakeServer.sha256([1, 2])], nil),
      ([.sha512: String(repeating: "0", count: 128)], .damaged),
    ] as [([DigestAlgorithm: String], MovedBecause?)])
  func whatNothingHasProved(_ told: [DigestAlgorithm: String], _ reason: MovedBecause?) async throws {
    let bench = try DownloadBench([1, 2], change: { $0.verify = .required })
    try complete(bench, [1, 2])
    bench.record.note(.checked(Verification("size", .server, .match)))
    bench.source.object.digests = told
    let wanted: TransferEnd? = reason == nil ? .settled(nil) : nil
    #expect(try await end(bench).end == wanted)
    #expect(bench.record.fallen == reason && bench.source.probes == 1)
    #expect(bench.record.progress.verification.contains(where: \.proves) == (reason == nil))
  }

  @Test func theFileHasChanged() async throws {
    let bench = try DownloadBench([1, 2])
    try complete(bench, [1, 2])
    try bench.write("out/a", [3, 4, 5])
    let (end, own) = try await end(bench)
    #expect(end == nil && own == nil && bench.record.fallen == .destinationChanged)
  }

  /// Killed between the rename and its record.
  @Test func whatWasRenamedIsOurs() async throws {
    let bench = try DownloadBench([1, 2])
    try bench.write("out/a", [1, 2])
    let facts = try #require(try bench.destination().present())
    bench.record.note(.sized(2))
    bench.record.note(.hashed([.sha256: FakeServer.sha256([1, 2])]))
    bench.record.note(.intended(facts.inode))
    #expect(try await end(bench).end == .finished)
    #expect(bench.record.progress.destination?.inode == facts.inode && bench.record.progress.reused == 2)
  }
}
