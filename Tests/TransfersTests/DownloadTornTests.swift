import CPosix
import Foundation
import JobModel
import Testing
import Transfers

/// A file that was called complete, and of which the disk does not have every byte: it stays the job's own, and is
/// fetched again whatever `if_exists` says.
struct DownloadTornTests: DownloadCase {
  private static let rules: [ExistsRule] = [.replace, .keep, .fail]

  /// Damages the file at the destination, and leaves its time as it was.
  private func tear(_ rig: Rig) throws {
    let path = rig.path + "/work/out/a"
    var status = stat()
    try #require(stat(path, &status) == 0)
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.write(contentsOf: Data(repeating: 0, count: 100))
    try handle.close()
    try #require(utimensat(AT_FDCWD, path, [status.st_atim, status.st_mtim], 0) == 0)
  }

  /// Takes the record back to the intent, as another boot finds it.
  private func lose(_ rig: Rig, intendedAt: Double) async throws {
    try await rig.alter(
      { progress in
        progress.completedAt = nil
        progress.destination = nil
        progress.isSynced = false
        progress.bootID = "another"
        progress.updatedAt = intendedAt
      }, state: .paused(.interrupted))
  }

  private func rig(_ rule: ExistsRule) throws -> Rig {
    try Rig(.download) {
      $0.ifExists = rule
      $0.policy.retryAttempts = 1
    }
  }

  @Test(arguments: rules) func byAPowerCut(_ rule: ExistsRule) async throws {
    let (rig, server) = (try rig(rule), server())
    checkComplete(rig, try await run(rig, server))
    try tear(rig)
    try await rig.alter { progress in
      progress.isSynced = false
      progress.bootID = "another"
    }
    // The next attempt fails before a byte has come, and the doubt outlives it.
    checkFailed(rig, try await run(rig, server) { _ in .broken() }, .networkUnreachable)
    checkComplete(rig, try await run(rig, server))
  }

  /// Its digest in memory is right, and does not count: the disk has refused it.
  @Test(arguments: rules) func byASyncThatFailed(_ rule: ExistsRule) async throws {
    let (rig, server) = (try rig(rule), server())
    checkComplete(rig, try await run(rig, server))
    try await rig.alter(
      { progress in
        progress.isSynced = false
        progress.bootID = TransferProgress.noBoot
      }, state: .failed)
    checkFailed(rig, try await run(rig, server) { _ in .broken() }, .networkUnreachable)
    let again = try await run(rig, server)
    checkComplete(rig, again)
    #expect(again.progress.transferred == 10_500 && again.progress.isSynced)
  }

  @Test(arguments: rules) func betweenItsRenameAndItsRecord(_ rule: ExistsRule) async throws {
    let (rig, server) = (try rig(rule), server())
    checkComplete(rig, try await run(rig, server))
    try tear(rig)
    try await lose(rig, intendedAt: Date().timeIntervalSince1970)
    checkComplete(rig, try await run(rig, server))
  }

  /// Without a digest its size is no proof: the blocks of a file that was given its space are zeros then.
  @Test func withoutADigest() async throws {
    let server = server()
    let rig = try Rig(.download) { $0.verify = .size }
    #expect(try await run(rig, server).state == .completed)
    try tear(rig)
    try await lose(rig, intendedAt: Date().timeIntervalSince1970)
    #expect(try await run(rig, server).state == .completed)
    #expect(rig.read("out/a") == content)
  }

  /// Moved away before it could be synced, and back after a power cut: read before it counts.
  @Test func movedAwayAndBack() async throws {
    let (rig, server) = (try rig(.replace), server())
    checkComplete(rig, try await run(rig, server))
    try tear(rig)
    try await rig.alter { progress in
      progress.isSynced = false
      progress.bootID = nil
    }
    checkComplete(rig, try await run(rig, server))
    try await rig.alter { progress in
      progress.isSynced = false
      progress.bootID = nil
    }
    let again = try await run(rig, server)
    #expect(again.state == .upToDate(nil) && again.progress.transferred == 0 && again.progress.isSynced)
  }

  /// A file that was repaired by hand after a power cut is a stranger's, however often it is looked at.
  @Test func repairedByHand() async throws {
    let (rig, server) = (try rig(.fail), server())
    checkComplete(rig, try await run(rig, server))
    try await lose(rig, intendedAt: 1_700_000_000)
    let handle = try #require(FileHandle(forWritingAtPath: rig.path + "/work/out/a"))
    try handle.write(contentsOf: Data([9, 9, 9]))
    try handle.close()
    for _ in 0..<2 {
      let now = Date().timeIntervalSince1970 + 10
      let outcome = try await rig.run(from: "http://h/f/a", to: "out/a", now: now) { server.response($0) }
      #expect(outcome.state == .failed && outcome.code == .destinationExists)
      #expect(rig.read("out/a")?.prefix(3) == [9, 9, 9])
    }
  }

  /// What somebody has written since is not ours to replace, torn or not.
  @Test(arguments: [ExistsRule.keep, .fail]) func changedSince(_ rule: ExistsRule) async throws {
    for boot in ["another", TransferProgress.noBoot] {
      let (rig, server) = (try rig(rule), server())
      checkComplete(rig, try await run(rig, server))
      try rig.write("out/a", [1, 2, 3])
      try await rig.alter { progress in
        progress.isSynced = false
        progress.bootID = boot
      }
      let again = try await run(rig, server)
      #expect(again.state == (rule == .keep ? .skipped(.exists) : .failed), "\(boot)")
      #expect(rig.read("out/a") == [1, 2, 3])
    }
  }
}
