import Foundation
import HTTPClient
import JobModel
import TestSupport
import Testing

@testable import HaulCore

/// The file of exchanged refresh tokens, which a run and a plan may write at the same time.
struct KeptTokensTests {
  @Test func nobodyWritesOverAnothersToken() async throws {
    let scratch = try Scratch()
    // As of two processes: each has a lock of its own within it.
    let keepings = [KeptTokens.keeping(in: scratch.path), KeptTokens.keeping(in: scratch.path)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, keeping) in keepings.enumerated() {
        group.addTask {
          for number in 0..<20 { try await keeping.write("\(index)-\(number)", Secret("t\(number)")) }
        }
      }
      try await group.waitForAll()
    }
    for index in 0..<2 {
      for number in 0..<20 {
        #expect(keepings[0].read("\(index)-\(number)")?.reveal() == "t\(number)")
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["tokens.json"])
    let mode = try FileManager.default.attributesOfItem(atPath: scratch.path + "/tokens.json")
    #expect(mode[.posixPermissions] as? Int == 0o600)
  }

  /// What a killed process left of its draft is no token.
  @Test func aDraftThatWasLeft() async throws {
    let scratch = try Scratch()
    try scratch.write("tokens.json.new", String(repeating: "x", count: 1000))
    let keeping = KeptTokens.keeping(in: scratch.path)
    #expect(keeping.read("a") == nil)
    try await keeping.write("a", Secret("t"))
    #expect(keeping.read("a")?.reveal() == "t")
  }
}
