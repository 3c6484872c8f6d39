import Foundation
import JobModel
import LocalFiles
import Testing

@testable import Transfers

/// Where a download's file goes, and what must not be written.
struct DestinationFileTests {
  private func failure(_ work: () throws -> Void) -> ErrorCode? {
    do { try work() } catch { return (error as? Failure)?.code }
    return nil
  }

  @Test func theNameIsTheManifestsOrTheServers() throws {
    #expect(try DownloadBench().destination(named: "b").name == "a")
    let bench = try DownloadBench(to: "out/")
    let file = try bench.destination(named: "../b.txt")
    #expect(file.name == "b.txt" && file.path == bench.path + "/out/b.txt")
    #expect(bench.record.progress.resolvedDestination == "out/b.txt")
    // It stays what it was called first, whatever the server says then.
    #expect(try bench.destination(named: "c").name == "b.txt")
    #expect(try DownloadBench(to: "out/").destination().name == "a", "else the place's own")
  }

  @Test func namesOfHaulsOwnAreRefused() throws {
    let bench = try DownloadBench(to: "out/.a.0123abcd.haul-part")
    #expect(failure { _ = try bench.destination() } == .permissionDenied)
  }

  @Test func theManifestIsNotReplaced() throws {
    let bench = try DownloadBench()
    try bench.write("out/a", [1])
    let other = try DownloadBench(protected: ProtectedFiles([bench.path + "/out/a", bench.path + "/none"]))
    #expect(try other.destination().present() == nil)
    try FileManager.default.linkItem(atPath: bench.path + "/out/a", toPath: other.path + "/out/a")
    let file = try other.destination()
    #expect(failure { _ = try file.present() } == .destinationExists)
  }

  @Test func aNameIsClaimedUntilItIsReleased() throws {
    let bench = try DownloadBench()
    let file = try bench.destination()
    func other() -> ErrorCode? {
      failure { _ = try bench.context.local.claims.take("a", in: file.folder, for: "u") }
    }
    #expect(other() == .destinationExists)
    file.release()
    #expect(other() == nil)
  }

  /// Whose file stands there may have its turn just now.
  @Test(arguments: [true, false]) func theNameOfAnothersFileIsNotClaimed(_ isLive: Bool) async throws {
    let bench = try DownloadBench()
    try bench.write("out/a", [1])
    let folder = try Folder.open(bench.path + "/out")
    let present = try #require(try folder.facts("a"))
    try await bench.add("u", wrote: present, at: "out/a", isLive: isLive)
    #expect(failure { _ = try bench.destination() } == (isLive ? .destinationExists : nil))
    let others = failure { _ = try bench.context.local.claims.take("a", in: folder, for: "u") }
    #expect(others == (isLive ? nil : .destinationExists))
  }

  @Test func digestsOfWhatIsThere() async throws {
    let bench = try DownloadBench()
    try bench.write("out/a", pattern(5000))
    let file = try bench.destination()
    #expect(try await file.digests(of: [.sha256]) == [.sha256: FakeServer.sha256(pattern(5000))])
    #expect(try await file.digests(of: []) == [:])
  }

  /// What is recorded and not there is fetched again, and said so.
  @Test func aPartFileThatIsGone() throws {
    let bench = try DownloadBench()
    let file = try bench.destination()
    #expect(try file.leftPart(chunks: 2) == nil)
    let part = try file.makingPart()
    #expect(bench.names == [part.name])
    part.discard()
    #expect(bench.names.isEmpty)
  }
}
