import Endpoints
import Foundation
import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct ShardStatesTests {
  /// The other parts of the job were cleared.
  @Test func gcNamesThePartThatIsDamaged() throws {
    var result = StateCleanup.Result()
    result.damaged = [("nightly", try Shard("2/3"), "its state is damaged"), ("weekly", nil, "too")]
    #expect(result.end?.message == "nothing was removed of shard 2/3 of `nightly`, `weekly`")
    let errors = result.json(isDryRun: false)["errors"].array ?? []
    #expect(errors.map { $0["shard"]["index"].int64 } == [2, nil])
  }

  private static let environment = ProcessEnvironment([:], userHome: "/")

  /// Makes the state of a job, or of a part.
  private func plan(_ job: String, _ state: StateFolder) throws {
    try state.make(job)
    let lock = try #require(try state.lock(job, waiting: false))
    _ = try state.open(job, holding: lock)
  }

  /// Two parts have a run 5 each.
  @Test(
    arguments: [
      (nil, "would remove run of `a`: run 5\n"), ("2/3", "would remove run of shard 2/3 of `a`: run 5\n"),
    ] as [(String?, String)])
  func whatIsRemovedOfAPartSaysSo(_ shard: String?, _ text: String) throws {
    let item = StateCleanup.Item(
      job: "a", shard: try shard.map { try Shard($0) }, kind: "run", place: "run 5")
    #expect(item.text(isDryRun: true) == text)
  }

  @Test func partsLieInTheirJobsFolder() throws {
    let state = try CoreFixture().state
    for shard in ["2/3", "10/16", "9/16"] { try plan("a", state.part(try Shard(shard))) }
    try plan("b", state)
    let (third, ninth) = (state.part(try Shard("2/3")), state.part(try Shard("9/16")))
    #expect(third.folder("a") == state.path + "/a/shards/2-of-3")
    #expect(state.shards(of: "a").map(\.text) == ["2/3", "9/16", "10/16"] && state.shards(of: "b") == [])
    #expect(state.jobs == ["b"] && state.everyJob == ["a", "b"])
    #expect(
      state.everyState.map { $0.job + ($0.state.shard?.text ?? "") } == ["a2/3", "a9/16", "a10/16", "b"])
    #expect(ninth.everyState.map(\.job) == ["a"])
  }

  @Test func aJobInPartsIsNamed() throws {
    let state = try CoreFixture().state
    for index in 1...3 { try plan("a", state.part(try Shard("\(index)/3"))) }
    try plan("b", state)
    #expect(try state.named("a", Self.environment).states.compactMap(\.state.shard?.index) == [1, 2, 3])
    let (own, absent) = (state.part(try Shard("2/3")), state.part(try Shard("1/4")))
    #expect(try own.resolve("a", Self.environment) == "a")
    let whole = #expect(throws: End.self) { try state.resolve("a", Self.environment) }
    #expect(whole?.status == .noInput && whole?.message?.contains("1/3 to 3/3") == true)
    let other = #expect(throws: End.self) { try absent.resolve("a", Self.environment) }
    #expect(other?.status == .noInput && other?.hint?.contains("1/3 to 3/3") == true)
    let part = #expect(throws: End.self) { try absent.resolve("b", Self.environment) }
    #expect(part?.hint?.contains("as a whole") == true)
  }

  /// Only parts of the same division are asked, and not the one that asks.
  @Test func aFileIsAnotherParts() async throws {
    let state = try CoreFixture().state
    let parts = try ["1/2", "2/2", "1/3"].map { state.part(try Shard($0)) }
    for part in parts { try plan("a", part) }
    let ledger = try parts[0].open("a")
    let entry = PlannedTransfer(
      id: "one", source: Place("http://h/a"), destination: Place("got/"), destinationIdentity: "got/",
      settings: TransferSettings(direction: .download), expect: JobModel.Expectation(),
      mark: SourceMark(file: "job", line: 1, column: 1), takesSourceName: true)
    _ = try ledger.compile { add in try add(entry, [UInt8](repeating: 1, count: 8)) }
    let file = FileFacts(size: 1, mtime: 2, ctime: 3, inode: 4)
    var progress = TransferProgress()
    (progress.completedAt, progress.destination) = (5, file)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    writer.submit(.progress(seq: 1, progress))
    try await writer.barrier()
    #expect(parts.map { $0.owner(of: file, inOtherPartsOf: "a") } == [nil, "one", nil])
    #expect(state.owner(of: file, inOtherPartsOf: "a") == nil)
    try writer.close()
  }

  /// A whole run that comes to nothing takes no part's state with it, and a part no other's.
  @Test func forgettingSparesOthers() throws {
    let state = try CoreFixture().state
    let parts = try ["1/2", "2/2"].map { state.part(try Shard($0)) }
    for part in parts { try plan("a", part) }
    try plan("a", state)
    state.forget("a")
    #expect(!state.exists("a") && state.shards(of: "a").count == 2)
    parts[0].forget("a")
    #expect(state.shards(of: "a").map(\.text) == ["2/2"])
    parts[1].forget("a")
    #expect(!FileManager.default.fileExists(atPath: state.path + "/a"))
  }

  /// Parts whose first run comes to nothing remove the folders above them while others are made.
  @Test func partsAreMadeWhileOthersAreForgotten() async throws {
    let state = try CoreFixture().state
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 1...4 {
        let part = state.part(try Shard("\(index)/4"))
        group.addTask {
          for _ in 0..<1000 {
            try part.make("a")
            part.forget("a")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(!FileManager.default.fileExists(atPath: state.path + "/a"))
  }

  /// Each part keeps a plan of its own until its first run.
  @Test func keptPlansAreApart() throws {
    let state = try CoreFixture().state
    let part = state.part(try Shard("1/2"))
    let home = PlanDraft.home(state)
    for name in ["kept-a", "kept-a@1-of-2"] { try plan(name, home) }
    #expect(KeptPlan.isOfUse("kept-a", in: home, part) && KeptPlan.isOfUse("kept-a@1-of-2", in: home, state))
    try plan("a", part)
    #expect(KeptPlan.isOfUse("kept-a", in: home, part) && !KeptPlan.isOfUse("kept-a@1-of-2", in: home, state))
  }

  /// `verify`, `gc` and controls of all parts together keep to the limits of the job.
  @Test(arguments: [(nil, 8), ("2/4", 2)] as [(String?, Int)])
  func aPartIsReadAgainWithItsShare(_ shard: String?, _ most: Int) throws {
    let fixture = try CoreFixture()
    let state = fixture.state.part(try shard.map { try Shard($0) })
    let reports = ReportSink(targets: [], json: false, state: state, context: try fixture.context())
    let file = try fixture.manifest(CoreFixture.job + "limits: { transfers: 8 }\n")
    let opened = try #require(try JobOpening.open(file, RunSettings(), state: state, reports: reports))
    #expect(try opened.ledger.recordedJob("core", fixture.environment)?.limits.transfers?.number == most)
  }

  @Test func ledgersKnowTheirPart() throws {
    let fixture = try CoreFixture()
    let file = try fixture.manifest(CoreFixture.job)
    let read = file.read(overrides: [:])
    let job = try #require(read.job)
    func of(_ shard: Shard?) -> String? {
      PlanFingerprint.of(
        job, file: file, read: read, overrides: [:], run: RunValues(id: "R", startedAt: 1_767_225_600),
        shard: shard
      )?.whole
    }
    let marks = [of(nil), of(try Shard("1/2")), of(try Shard("2/2")), of(try Shard("1/3"))]
    #expect(Set(marks).count == 4 && !marks.contains(nil))
  }
}
