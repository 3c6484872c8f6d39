import Foundation
import JobModel
import Testing

@testable import LocalFiles
@testable import Transfers

/// One file, one writer, whatever the folder is called.
struct DestinationClaimsTests {
  @Test func aFileIsClaimedOnce() throws {
    let path = FileManager.default.temporaryDirectory.path + "/haul-claims-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path + "/a", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: path + "/b", withDestinationPath: path + "/a")
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (folder, alias) = (try Folder.open(path + "/a"), try Folder.open(path + "/b"))
    let claims = DestinationClaims()
    let claim = try claims.take("f", in: folder, for: "t1")
    #expect(try claims.take("f", in: folder, for: "t1") == claim, "its own is no obstacle")
    let failure = #expect(throws: Failure.self) { try claims.take("f", in: alias, for: "t2") }
    #expect(failure?.code == .destinationExists && failure?.message.contains("`t1`") == true)
    // Names are compared by bytes: these are two files.
    _ = try claims.take("e\u{301}", in: folder, for: "t2")
    _ = try claims.take("\u{e9}", in: folder, for: "t3")
    claims.release(claim)
    _ = try claims.take("f", in: alias, for: "t2")
  }
}
