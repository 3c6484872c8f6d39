import JobLedger
import JobModel
import Testing

@testable import Maintenance
@testable import Transfers

/// A user's wish at a transfer that nobody works on.
struct ControlApplierTests {
  @Test(
    arguments: [
      (.queued(nil), .init(.pause, ids: []), .paused(.user), false),
      (.paused(.user), .init(.resume, ids: []), .queued(nil), false),
      (.queued(nil), .init(.resume, ids: []), nil, false), (.completed, .init(.cancel, ids: []), nil, false),
      (.paused(.retries), .init(.cancel, ids: []), .canceled, true),
      (.failed, .init(.retry, ids: []), .queued(nil), false),
      (.failed, .init(.retry, ids: [], fromScratch: true), .queued(nil), true),
      (.completed, .init(.retry, ids: []), nil, false),
      // What is complete begins anew where it is meant.
      (.completed, .init(.retry, ids: [], fromScratch: true), nil, false),
      (.completed, .init(.retry, ids: ["**"], fromScratch: true), .queued(nil), true),
      (.skipped(.disabled), .init(.retry, ids: ["a"]), nil, false),
      // What waits already has its progress to forget.
      (.queued(nil), .init(.retry, ids: [], fromScratch: true), .queued(nil), true),
      (.queued(nil), .init(.retry, ids: []), nil, false),
      // The next run tries them again, unless they are named.
      (.failed, .init(.pause, ids: []), nil, false),
      (.failed, .init(.pause, ids: ["a"]), .paused(.user), false),
      (.canceled, .init(.pause, ids: ["a"]), .paused(.user), false),
      (.skipped(.exists), .init(.pause, ids: ["a"]), .paused(.user), false),
      (.skipped(.disabled), .init(.pause, ids: ["a"]), nil, false),
    ] as [(TransferState, Control, TransferState?, Bool)])
  func wishes(_ state: TransferState, _ control: Control, _ expected: TransferState?, _ drops: Bool)
    async throws
  {
    let bench = try PlanBench([.init(id: "a", from: "a", to: "api:k")]) { _ in .status(204) }
    try await bench.alter(1, state) { $0.session = RemoteSession(id: "s1", chunkSize: 5) }
    try await bench.record(.chunk(seq: 1, ChunkRecord(offset: 0, length: 5, digest: "d")))
    let told = bench.events.count
    let changed = try await ControlApplier.applyAtRest(control, context: bench.maintenance)
    #expect(changed == (expected == nil ? 0 : 1) && bench.events.count - told == changed)
    let transfer = try bench.transfer(1)
    #expect(transfer.state == expected ?? state)
    #expect((transfer.progress.session == nil) == drops && transfer.hasChunks == !drops)
    #expect(bench.methods == (drops ? ["DELETE"] : []))
  }

  /// What is complete stays so, with the request that ties it under its key; only `retry --from-scratch` forgets both.
  @Test(arguments: [Control(.cancel, ids: []), Control(.retry, ids: [], fromScratch: true)])
  func aWholeFile(_ control: Control) async throws {
    let bench = try PlanBench([.init(id: "a", from: "a", to: "api:k")])
    let owed = AttachRecord(
      key: "k", identity: "i", request: AttachRequest(.post, endpoint: "api", target: "r"))
    try await bench.alter(1, .paused(.retries)) { progress in
      (progress.completedAt, progress.attach, progress.transferred) = (7, owed, 5)
      progress.digests = [.sha256: "d"]
    }
    #expect(try await ControlApplier.applyAtRest(control, context: bench.maintenance) == 1)
    let progress = try bench.transfer(1).progress
    let isKept = control.verb == .cancel
    #expect(try bench.transfer(1).state == (isKept ? .canceled : .queued(nil)))
    #expect((progress.completedAt == 7) == isKept && (progress.attach == owed) == isKept)
    #expect((progress.digests == [.sha256: "d"]) == isKept && (progress.discarded == 0) == isKept)
  }

  /// The copy of its source has that one's size.
  @Test func aCopyGoesWithItsSession() async throws {
    let bench = try PlanBench(
      [.init(id: "a", from: "a", to: "api:k"), .init(id: "b", from: "b", to: "api:l")]
    ) { _ in .status(204) }
    try bench.makeFolder("snapshots")
    for (seq, id) in [(1, "a"), (2, "b")] as [(Int64, String)] {
      try await bench.alter(seq, .paused(.retries)) { $0.session = RemoteSession(id: id, chunkSize: 5) }
      try bench.write("snapshots/" + bench.context.run.tag(id), [1])
    }
    #expect(
      try await ControlApplier.applyAtRest(Control(.cancel, ids: ["a"]), context: bench.maintenance) == 1)
    #expect(!bench.exists("snapshots/" + bench.context.run.tag("a")))
    #expect(bench.exists("snapshots/" + bench.context.run.tag("b")))
  }

  @Test func onlyThoseThatAreMeant() async throws {
    let bench = try PlanBench(["a1", "a2", "b"].map { .init(id: $0, to: "out/\($0)") })
    #expect(try await ControlApplier.applyAtRest(.init(.pause, ids: ["a*"]), context: bench.maintenance) == 2)
    #expect(try bench.transfer(3).state == .queued(nil))
  }
}
