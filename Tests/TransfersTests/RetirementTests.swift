import Endpoints
import JobLedger
import JobModel
import Testing

@testable import LocalFiles
@testable import Maintenance
@testable import Transfers

/// What is left of transfers that nobody wants any more: ended, or on record until it is.
struct RetirementTests {
  private static let upload = PlanBench.Line(id: "a", from: "a", to: "api:k")
  private let session = RemoteSession(id: "s1", chunkSize: 5)
  private let intent = SessionIntent(key: "key", size: 10, contentType: "text/plain", chunkSize: 5)

  /// A plan with one upload under way, whose server answers so.
  private func begun(_ status: Int) async throws -> PlanBench {
    let bench = try PlanBench([Self.upload]) { sent in
      sent.method == "POST" ? .status(201, [:], #"{"sessionId":"s2","chunkSize":5}"#) : .status(status)
    }
    try await bench.alter(1) { ($0.session, $0.sessionState) = (session, .open) }
    return bench
  }

  @Test(arguments: [(204, true), (404, true), (403, false), (503, false)])
  func whatLeftThePlanGoesOnceItsSessionIsEnded(_ status: Int, _ isEnded: Bool) async throws {
    let bench = try await begun(status)
    try bench.plan([])
    try await RetiredTransfers.clear(bench.maintenance)
    try await bench.record()
    #expect(bench.methods.first == "DELETE")
    #expect(try bench.ledger.retired().map(\.id) == (isEnded ? [] : ["a"]))
    #expect(bench.remarks.contains { $0.contains("s1 could not be ended") } == !isEnded)
  }

  /// They are read a page at a time: a plan may lose a million at once.
  @Test func moreThanAPageGoes() async throws {
    let bench = try PlanBench((0..<600).map { PlanBench.Line(id: "t\($0)", to: "out/\($0)") })
    try bench.plan([])
    #expect(try bench.ledger.retired().count < 600)
    try await RetiredTransfers.clear(bench.maintenance)
    try await bench.record()
    #expect(try bench.ledger.retired().isEmpty)
  }

  /// A transfer that stays in the plan keeps what could not be ended beside it.
  @Test(arguments: [(204, 0), (503, 1)]) func whatIsLeftIsRecordedApart(_ status: Int, _ left: Int)
    async throws
  {
    let bench = try await begun(status)
    let clearance = await Retirement(bench.maintenance).clear(try bench.transfer(1), isRetired: false)
    try await bench.record()
    #expect(clearance.isOver == (left == 0) && clearance.ended == (left == 0 ? [session] : []))
    #expect(
      try bench.ledger.retired().compactMap(\.progress.session?.id) == Array(repeating: "s1", count: left))
  }

  /// What was asked for without an answer is asked for once more, and ended.
  @Test(arguments: [(204, true), (503, false)]) func whatMayBeOpenIsEnded(_ status: Int, _ isEnded: Bool)
    async throws
  {
    let bench = try await begun(status)
    try await bench.alter(1, .canceled) { $0.session = nil }
    try await bench.record(.intent(seq: 1, intent))
    try await RetiredTransfers.clearIntended(bench.maintenance) { true }
    #expect(bench.methods.isEmpty, "a run that is stopped asks nobody")
    try await RetiredTransfers.clearIntended(bench.maintenance) { false }
    try await bench.record()
    #expect(bench.methods.prefix(2) == ["POST", "DELETE"])
    #expect(try bench.ledger.intents(of: 1).isEmpty)
    #expect(try bench.ledger.retired().isEmpty == isEnded, "what was found and not ended stays on record")
  }

  @Test func aSilentServerIsAskedByWhoComesNext() async throws {
    let bench = try PlanBench([Self.upload]) { _ in .broken() }
    try await bench.record(.intent(seq: 1, intent), .state(seq: 1, .canceled))
    let clearance = await Retirement(bench.maintenance).clear(try bench.transfer(1), isRetired: false)
    try await bench.record()
    #expect(!clearance.isOver && clearance.obstacle?.code == .networkUnreachable)
    #expect(try bench.ledger.intents(of: 1) == [intent])
    #expect(bench.remarks.contains { $0.contains("can't be known now") })
  }

  /// The old source is gone, and a new transfer has the same bytes and destination: its session goes on.
  @Test(arguments: [true, false]) func aRenamedSourceHandsItsSessionOver(_ isSame: Bool) async throws {
    let bench = try PlanBench([Self.upload]) { _ in .status(204) }
    try bench.write("b", [1, 2, 3])
    var facts = try bench.facts("b")
    facts.fingerprint = isSame ? try SourceFile(.reading(bench.path + "/b")).facts.fingerprint : "other"
    try await bench.alter(1) { ($0.session, $0.source) = (session, facts) }
    try bench.plan([.init(id: "b", from: "b", to: "api:k")])
    let old = try #require(try bench.ledger.retired().first)
    #expect((try RenamedSource.successor(of: old, context: bench.maintenance) != nil) == isSame)
    try await RetiredTransfers.clear(bench.maintenance)
    try await bench.record()
    let new = try #require(try bench.ledger.page(after: 0, onlyTouched: false, limit: 9).first)
    #expect(new.id == "b" && (new.progress.session == session) == isSame)
    #expect(bench.methods == (isSame ? [] : ["DELETE"]))
    #expect(try bench.ledger.retired().isEmpty)
  }

  // MARK: What gc tells

  @Test func orphansAreToldOrRemoved() async throws {
    let bench = try PlanBench([Self.upload, .init(id: "d", to: "out/d"), .init(id: "e", to: "out/e")]) { _ in
      .status(204)
    }
    try await bench.alter(1) { ($0.session, $0.sessionState) = (session, .open) }
    try await bench.record(.state(seq: 2, .completed), .state(seq: 3, .failed))
    let parts = [2, 3].map { "out/" + PartName.of($0 == 2 ? "d" : "e", tag: bench.context.run.partTag($0)) }
    for part in parts { try bench.write(part, [1]) }
    try bench.plan([.init(id: "d", to: "out/d"), .init(id: "e", to: "out/e")])
    for removes in [false, true] {
      let found = try await Orphans.clear(bench.maintenance, remove: removes)
      #expect(found.map(\.kind) == [.session, .part] && found.map(\.transfer) == ["a", "d"])
      #expect(found.first?.place == "api:k s1" && found.last?.place == bench.path + "/" + parts[0])
      #expect(found.allSatisfy { $0.obstacle == nil } && bench.methods == (removes ? ["DELETE"] : []))
      #expect(
        bench.exists(parts[0]) == !removes && bench.exists(parts[1]), "what goes on keeps its part file")
    }
    #expect(try await Orphans.clear(bench.maintenance, remove: true).isEmpty)
  }

  @Test func anOrphanThatStaysSaysWhy() async throws {
    let bench = try await begun(403)
    try bench.plan([])
    let found = try await Orphans.clear(bench.maintenance, remove: true)
    #expect(found.count == 1 && found.first?.obstacle?.contains("403") == true, "\(found)")
  }

  // MARK: Copies of sources

  @Test func onlyAnOpenSessionKeepsItsCopy() async throws {
    let bench = try PlanBench([Self.upload, .init(id: "b", from: "b", to: "api:l")])
    try await bench.alter(1) { $0.session = session }
    let run = bench.context.run
    try bench.makeFolder("snapshots")
    for name in [run.tag("a"), run.tag("b"), "stranger"] { try bench.write("snapshots/" + name, [1]) }
    try StaleSnapshots.clear(bench.maintenance)
    #expect(bench.exists("snapshots/" + run.tag("a")) && !bench.exists("snapshots/" + run.tag("b")))
    #expect(!bench.exists("snapshots/stranger"))
    // `gc` removes what an ended one left.
    try await bench.alter(1) { $0.session = nil }
    for removes in [false, true] {
      _ = try await Orphans.clear(bench.maintenance, remove: removes)
      #expect(bench.exists("snapshots/" + run.tag("a")) == !removes)
    }
  }

  @Test func changedSourcesAreNamed() async throws {
    let lines = ["a", "b", "c"].map { PlanBench.Line(id: $0, from: $0, to: "api:" + $0) }
    let bench = try PlanBench(
      lines + [.init(id: "s", from: "b", to: "api:s") { $0.snapshot = .copy }])
    for (seq, name) in zip(1..., ["a", "b", "c", "b"]) {
      try bench.write(name, [1, 2])
      var facts = try bench.facts(name)
      facts.fingerprint = try SourceFile(.reading(bench.path + "/" + name)).facts.fingerprint
      try await bench.alter(Int64(seq)) { ($0.session, $0.source) = (session, facts) }
    }
    try bench.write("b", [3, 4, 5])
    try bench.remove("c")
    let copies = SnapshotFolder(bench.path, job: bench.context.run.job)
    #expect(try ChangedSources.ids(bench.ledger, folder: bench.context.local.folder, copies: copies) == ["b"])
    // It was opened of its copy, whatever is asked for now.
    try bench.makeFolder("snapshots")
    try bench.write("snapshots/" + bench.context.run.tag("b"), [1, 2])
    #expect(
      try ChangedSources.ids(bench.ledger, folder: bench.context.local.folder, copies: copies) == [])
  }
}
