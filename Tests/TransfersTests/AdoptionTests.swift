import Endpoints
import Foundation
import JobModel
import LocalFiles
import Testing

@testable import Transfers

/// A file that is there already and is the right one has what a downloaded one would have, or the transfer says so.
struct AdoptionTests {
  private static let bytes = pattern(1000)
  private static let headers: HeaderList = [
    "x-amz-meta-mtime": "1600000000.123456789", "x-amz-meta-mode": "100640",
  ]

  private static func rig(
    _ words: [String], change: (inout TransferSettings) -> Void = { _ in }
  ) throws -> Rig {
    let preserve = try PreserveRule(words)
    let rig = try Rig(.download) {
      $0.preserve = preserve
      change(&$0)
    }
    try rig.write("out/a", bytes)
    return rig
  }

  private static func mtime(_ rig: Rig) throws -> Int64 {
    try OpenFile.reading(rig.path + "/work/out/a").facts().mtime
  }

  private static func mode(_ rig: Rig) throws -> Int? {
    let attributes = try FileManager.default.attributesOfItem(atPath: rig.path + "/work/out/a")
    return (attributes[.posixPermissions] as? NSNumber)?.intValue
  }

  private static let expected = JobModel.Expectation(digests: [.sha256: FakeServer.sha256(bytes)])

  /// By the server's digest and by the manifest's, under each rule for files that are there.
  @Test(arguments: [ExistsRule.replace, .keep, .fail], [true, false])
  func theTimeAndTheModeAreTheSources(_ rule: ExistsRule, _ expects: Bool) async throws {
    let (rig, store) = (try Self.rig(["mtime!", "mode!"]) { $0.ifExists = rule }, FakeStore())
    store.put("h/b/src", Self.bytes, Self.headers)
    func run() async throws -> Rig.Outcome {
      try await rig.run(
        from: "store:src", to: "out/a", expect: expects ? Self.expected : JobModel.Expectation()
      ) { store.response($0) }
    }
    let outcome = try await run()
    #expect(outcome.state == .upToDate(.adopted), "\(String(describing: outcome.progress.failure))")
    #expect(outcome.sent.map(\.method) == ["HEAD"], "no byte is moved")
    #expect(try Self.mtime(rig) == 1_600_000_000_123_456_789 && Self.mode(rig) == 0o640)
    #expect(outcome.progress.attributes == KeptAttributes(preserved: [.mtime, .mode]))
    #expect(outcome.progress.destination?.mtime == 1_600_000_000_123_456_789)
    let again = try await run()
    #expect(again.state == .upToDate(nil) && again.progress.transferred == 0)
    #expect(try Self.mode(rig) == 0o640)
  }

  /// The manifest's own words count for it as well, and cost no question where they tell everything.
  @Test func theManifestsWords() async throws {
    let (rig, store) = (try Self.rig(["none"]) { $0.mode = 0o604 }, FakeStore())
    store.put("h/b/src", Self.bytes, Self.headers)
    let outcome = try await rig.run(from: "store:src", to: "out/a", expect: Self.expected) {
      store.response($0)
    }
    #expect(outcome.state == .upToDate(.adopted) && outcome.sent.isEmpty)
    #expect(try Self.mode(rig) == 0o604)
  }

  /// The file is the one that the manifest names, and nothing tells its time and mode any more.
  @Test(arguments: [true, false]) func aSourceWithOtherBytes(_ isDemanded: Bool) async throws {
    let (rig, store) = (try Self.rig(isDemanded ? ["mtime!"] : ["mtime"]), FakeStore())
    store.put("h/b/src", pattern(1001), Self.headers)
    let before = try Self.mtime(rig)
    let outcome = try await rig.run(from: "store:src", to: "out/a", expect: Self.expected) {
      store.response($0)
    }
    #expect(outcome.state == (isDemanded ? .failed : .upToDate(.adopted)))
    #expect(outcome.code == (isDemanded ? .attributesLost : nil))
    #expect(outcome.progress.attributes == KeptAttributes(lost: [.mtime]))
    #expect(try Self.mtime(rig) == before && rig.read("out/a") == Self.bytes)
  }

  /// What a kind never tells is lost of an adopted file as of a downloaded one.
  @Test func whatTheKindDoesNotTell() async throws {
    let (rig, server) = (try Self.rig(["mode!"]), FakeServer { $0.files["a"] = Self.bytes })
    let outcome = try await rig.run(from: "http://h/f/a", to: "out/a") { server.response($0) }
    #expect(outcome.state == .failed && outcome.code == .attributesLost)
    #expect(outcome.progress.transferred == 0 && rig.read("out/a") == Self.bytes)
    #expect(outcome.progress.attributes == KeptAttributes(lost: [.mode]))
  }
}
