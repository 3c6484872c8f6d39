import JobLedger
import JobModel
import Testing

@testable import Maintenance
@testable import Transfers

/// Completions on their way to the disk.
struct SyncPassTests {
  /// Files that were completed in this boot, on record as such.
  private func completed(_ names: [String]) async throws -> PlanBench {
    let bench = try PlanBench(names.map { .init(id: $0, to: "out/\($0)") })
    for (seq, name) in zip(1..., names) {
      try bench.write("out/" + name, [1])
      let facts = try bench.facts("out/" + name)
      try await bench.alter(Int64(seq), .completed) { progress in
        (progress.completedAt, progress.bootID, progress.destination) = (bench.now, "boot", facts)
      }
    }
    return bench
  }

  @Test(arguments: [1, 40]) func whatIsThereIsSynced(_ count: Int) async throws {
    let bench = try await completed((1...count).map { "f\($0)" })
    try await SyncPass(bench.maintenance).run()
    #expect(try bench.ledger.unsyncedCount(boot: "boot") == 0)
    for seq in 1...count {
      let progress = try bench.transfer(Int64(seq)).progress
      #expect(progress.isSynced && progress.bootID == nil)
    }
  }

  /// What is not that file any more can't be synced, and is looked at again before it counts; the others are not kept.
  @Test(arguments: ["removed", "replaced", "folder"]) func whatIsGoneIsNot(_ how: String) async throws {
    let bench = try await completed(["a", "b"])
    switch how {
    case "removed": try bench.remove("out/a")
    case "replaced":
      try bench.write("out/c", [2])
      try bench.move("out/c", "out/a")
    default: try await bench.alter(1) { $0.resolvedDestination = "gone/a" }
    }
    try await SyncPass(bench.maintenance).run()
    let (gone, other) = (try bench.transfer(1), try bench.transfer(2))
    #expect(gone.state == .completed && !gone.progress.isSynced && gone.progress.bootID == nil)
    #expect(other.progress.isSynced)
  }

  /// The disk refuses one: it has failed, and the others have not.
  @Test func whatCanNotBeSyncedHasFailed() async throws {
    let bench = try await completed(["a", "b"])
    // Longer than any name can be.
    try await bench.alter(1) { $0.resolvedDestination = "out/" + String(repeating: "x", count: 300) }
    try await SyncPass(bench.maintenance).run()
    let lost = try bench.transfer(1)
    #expect(lost.state == .failed && !lost.progress.isSynced && lost.progress.failure?.code == .ioError)
    #expect(try bench.transfer(2).progress.isSynced)
    let told = bench.events.contains { event in
      if case .state(let id, .completed, .failed, _?, _) = event { id == "a" } else { false }
    }
    #expect(told)
  }
}
