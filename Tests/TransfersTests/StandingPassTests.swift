import Endpoints
import Foundation
import JobLedger
import JobModel
import LocalFiles
import Testing

@testable import Transfers

/// What is settled without a turn of its own, and that it is recorded as by a turn.
struct StandingPassTests {
  private static let digest = FakeServer.sha256([1, 2])
  private static let expected = JobModel.Expectation(digests: [.sha256: digest])

  private func bench(
    _ expect: JobModel.Expectation = expected,
    change: @escaping @Sendable (inout TransferSettings) -> Void = { _ in }
  ) async throws -> PlanBench {
    let bench = try PlanBench([.init(id: "t", expect: expect, change: change)])
    try bench.write("out/a", [1, 2])
    let facts = try #require(try Folder.open(bench.path).facts("out/a"))
    try await bench.alter(1) { progress in
      progress.apply(.sized(2))
      progress.apply(.hashed([.sha256: Self.digest]))
      progress.apply(.checked(Verification("sha256", .manifest, .match)))
      progress.apply(.promoted(facts, remoteID: nil, chunks: 1))
      progress.apply(.completed(at: 1))
      progress.isSynced = true
    }
    return bench
  }

  /// - Returns: how many are settled.
  private func settle(
    _ bench: PlanBench, isSelective: Bool = false, admits: Bool = true
  ) async throws -> Int {
    var pass = StandingPass(bench.context, isSelective: isSelective)
    var count = 0
    while let settled = try await pass.next({ _ in admits }) { count += settled.reduce(0) { $0 + $1.count } }
    return count
  }

  @Test func isRecordedAsByATurnOfItsOwn() async throws {
    let (one, many) = (try await bench(), try await bench())
    let record = TransferRecord(try one.transfer(1), context: one.context, stop: StopFlag())
    record.begin()
    record.note(.reused(2))
    record.end(record.standing())
    try await one.record()
    #expect(try await settle(many) == 1 && many.methods.isEmpty)
    var (wanted, found) = (try one.transfer(1), try many.transfer(1))
    #expect(found.state == .upToDate(nil) && found.state == wanted.state)
    // Two folders' files.
    (wanted.progress.destination, found.progress.destination) = (nil, nil)
    #expect(found.progress == wanted.progress)
    func states(_ bench: PlanBench) -> [EngineEvent] {
      bench.events.filter { if case .state = $0 { true } else { false } }
    }
    #expect(states(many).count == 2 && "\(states(many))" == "\(states(one))")
  }

  private struct Other: Sendable {
    var name: String
    var expect = expected
    var settings: @Sendable (inout TransferSettings) -> Void = { _ in }
    var progress: @Sendable (inout TransferProgress) -> Void = { _ in }
    var state: TransferState?
    var file: [UInt8]?
  }

  /// Each needs a turn of its own.
  private static let others = [
    Other(name: "nothing tells another version", expect: JobModel.Expectation()),
    Other(
      name: "a checksum that anybody can meet", expect: JobModel.Expectation(digests: [.crc32c: "00000000"])),
    Other(
      name: "another digest",
      expect: JobModel.Expectation(digests: [.sha256: String(repeating: "0", count: 64)])),
    Other(name: "another size", expect: JobModel.Expectation(digests: [.sha256: digest], size: 3)),
    Other(name: "a digest more", expect: JobModel.Expectation(digests: [.sha256: digest, .md5: "0"])),
    Other(name: "a type", expect: JobModel.Expectation(digests: [.sha256: digest], type: "image/png")),
    Other(name: "fetched in each run", settings: { $0.refresh = .always }),
    Other(name: "kept whatever comes", settings: { $0.refresh = .never }),
    Other(name: "it needs others", settings: { $0.needs = ["u"] }),
    Other(name: "not complete", progress: { $0.completedAt = nil }),
    Other(name: "another boot's", progress: { $0.isSynced = false }),
    Other(name: "asked for anew", progress: { $0.movedBecause = .asked }),
    Other(name: "it had a turn", progress: { $0.attempts = 1 }),
    Other(name: "no word of what was compared", progress: { $0.verification = [] }),
    Other(
      name: "a word of what is not expected any more",
      progress: { $0.apply(.checked(Verification("md5", .manifest, .match))) }),
    Other(name: "another name", progress: { $0.resolvedDestination = "out/b" }),
    Other(name: "the file has grown", file: [1, 2, 3]),
    Other(name: "paused", state: .paused(.user)),
    Other(name: "canceled", state: .canceled),
  ]

  @Test(arguments: others.indices) private func hasATurnOfItsOwn(_ index: Int) async throws {
    let other = Self.others[index]
    let bench = try await bench(other.expect, change: other.settings)
    try await bench.alter(1, other.state) { other.progress(&$0) }
    if let bytes = other.file { try bench.write("out/a", bytes) }
    #expect(try await settle(bench) == 0, "\(other.name)")
    #expect(try bench.transfer(1).state == other.state ?? .queued(nil), "\(other.name)")
  }

  @Test func onlyWhatIsAskedFor() async throws {
    #expect(try await settle(bench(), isSelective: true) == 0)
    #expect(try await settle(bench(), admits: false) == 0)
  }

  /// The file is the one that was left, but its folder leads out of the job's by now.
  @Test func notBehindALink() async throws {
    let bench = try await bench()
    let elsewhere = bench.path + "-elsewhere"
    try FileManager.default.moveItem(atPath: bench.path + "/out", toPath: elsewhere)
    defer { try? FileManager.default.removeItem(atPath: elsewhere) }
    try FileManager.default.createSymbolicLink(
      atPath: bench.path + "/out", withDestinationPath: elsewhere)
    #expect(try await settle(bench) == 0)
  }

  /// A control comes between the look and the record.
  @Test func whatIsNoLongerDoneIsLeft() async throws {
    let bench = try await bench()
    try await bench.alter(1) { $0.apply(.restarted(.asked)) }
    #expect(try bench.ledger.settleStanding([1], at: 1).isEmpty)
    #expect(try bench.transfer(1).state == .queued(nil))
  }
}
