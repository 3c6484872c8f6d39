import Foundation
import HTTPClient
import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct StateFolderTests {
  @Test(
    arguments: [
      (nil, [:], "/home/u/.local/state/haul"),
      (nil, ["HOME": "/h"], "/h/.local/state/haul"),
      (nil, ["HOME": "/h", "XDG_STATE_HOME": "/x"], "/x/haul"),
      (nil, ["HOME": "/h", "XDG_STATE_HOME": "x"], "/h/.local/state/haul"),
      (nil, ["HOME": "/h", "XDG_STATE_HOME": "", "HAUL_STATE_DIR": ""], "/h/.local/state/haul"),
      (nil, ["XDG_STATE_HOME": "/x", "HAUL_STATE_DIR": "/s"], "/s"),
      ("/given", ["HAUL_STATE_DIR": "/s"], "/given"),
    ] as [(String?, [String: String], String)])
  func liesWhereTheEnvironmentSays(_ given: String?, _ variables: [String: String], _ path: String) {
    let environment = ProcessEnvironment(variables, userHome: "/home/u")
    #expect(StateFolder(given: given, environment).path == path)
  }

  @Test func aJobIsThereOnceItHasAPlan() throws {
    let state = try CoreFixture().state
    try state.make("a")
    #expect(!state.exists("a") && state.jobs == [])
    let lock = try #require(try state.lock("a", waiting: false))
    _ = try state.open("a", holding: lock)
    #expect(state.exists("a") && state.jobs == ["a"])
    let mode = try FileManager.default.attributesOfItem(atPath: state.folder("a"))[.posixPermissions]
    #expect(mode as? Int == 0o700)
  }

  /// A state folder of each working folder's own would know nothing of earlier runs.
  @Test func aTildeIsNoFolder() throws {
    let fixture = try CoreFixture()
    let (state, beside) = (fixture.state.path + "/~/x", fixture.state.path + "/~x/a~")
    let end = #expect(throws: End.self) { try StateFolder(path: state).make("a") }
    #expect(end?.status == .usage && !FileManager.default.fileExists(atPath: state))
    // What only reads it says so as well: no job of that folder is known for another reason.
    let reading = #expect(throws: End.self) { _ = try StateFolder(path: state).checked() }
    #expect(reading?.status == .usage)
    try StateFolder(path: beside).make("a")
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    try StateFolder(path: state).make("a")
  }

  /// Nobody can tell which jobs it has: that is another fault than a name that no job has.
  @Test func whatIsNoFolderHasNoJobsToName() throws {
    let fixture = try CoreFixture()
    let file = try fixture.scratch.write("file", "")
    let environment = ProcessEnvironment([:], userHome: "/")
    for (state, status) in [(StateFolder(path: file), ExitStatus.cannotCreate), (fixture.state, .noInput)] {
      let end = #expect(throws: End.self) { try state.resolve("a", environment) }
      #expect(end?.status == status)
    }
  }

  /// The token that the manifest refers to is used up.
  @Test func forgettingKeepsExchangedTokens() async throws {
    let fixture = try CoreFixture()
    let state = fixture.state
    try state.make("a")
    try state.make("b")
    try await KeptTokens.keeping(in: state.folder("a")).write("key", Secret("token"))
    try fixture.scratch.write("state/a/plan.sqlite", "")
    state.forget("a")
    state.forget("b")
    #expect(try FileManager.default.contentsOfDirectory(atPath: state.path) == ["a"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: state.folder("a")) == [KeptTokens.fileName])
  }

  @Test func onlyTheNewestReportsAreKept() throws {
    let fixture = try CoreFixture()
    for number in 0..<5 { try fixture.scratch.write("state/a/reports/0\(number).json", "{}") }
    fixture.state.prune("a", keeping: 2)
    let left = try FileManager.default.contentsOfDirectory(atPath: fixture.state.path + "/a/reports")
    #expect(left.sorted() == ["03.json", "04.json"])
  }

  @Test func resolvesNamesAndManifests() throws {
    let fixture = try CoreFixture()
    let (state, environment) = (fixture.state, fixture.environment)
    let path = try fixture.scratch.write("job.yaml", CoreFixture.job)
    #expect(try #require(throws: End.self) { try state.resolve("core", environment) }.status == .noInput)
    #expect(try #require(throws: End.self) { try state.resolve(path, environment) }.status == .noInput)
    try state.make("core")
    let lock = try #require(try state.lock("core", waiting: false))
    _ = try state.open("core", holding: lock)
    #expect(try state.resolve("core", environment) == "core")
    #expect(try state.resolve(path, environment) == "core")
    let broken = try fixture.scratch.write("broken.yaml", "version: [")
    #expect(
      try #require(throws: End.self) { try state.resolve(broken, environment) }.status == .invalidManifest)
  }

  @Test func oneRunnerAJob() throws {
    let state = try CoreFixture().state
    try state.make("a")
    var lock = try RunLock.take(state.folder("a"), waiting: false)
    #expect(lock != nil)
    #expect(try RunLock.take(state.folder("a"), waiting: false) == nil)
    #expect(try state.isRunning("a"))
    lock = nil
    #expect(try !state.isRunning("a"))
    let fault = try #require(throws: End.self) { try RunLock.take(state.folder("none"), waiting: false) }
    #expect(fault.status == .cannotCreate)
    // Removed since it was made, by another command that found it without a lock.
    let made = try state.lock("none", waiting: false)
    #expect(made != nil)
  }

  /// A first run that comes to nothing removes the file whose lock another runner waits for.
  @Test func aLockWithoutANameIsNone() async throws {
    let state = try CoreFixture().state
    try state.make("a")
    var first = try state.lock("a", waiting: false)
    #expect(first != nil)
    async let waiting = Self.aside { try state.lock("a", waiting: true) }
    try await Self.untilALockIsWaitedFor()
    state.forget("a")
    first = nil
    let second = try await waiting
    #expect(second != nil)
    #expect(try state.isRunning("a"), "the lock that is held keeps others out")
    withExtendedLifetime(second) {}
  }

  /// A call that waits where it stands, on no thread that other tests need.
  private static func aside(_ lock: @escaping @Sendable () throws -> RunLock?) async throws -> RunLock? {
    try await Task.detached(executorPreference: TestThreads.shared, operation: lock).value
  }

  private static func untilALockIsWaitedFor() async throws {
    let locks = { try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n") }
    while try !locks().contains(where: { $0.contains("->") && $0.contains(" \(getpid()) ") }) {
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  @Test func aMigrationIsNoRunner() throws {
    let state = try CoreFixture().state
    try state.make("a")
    #expect(!CommandLock.wait(state.folder("a")), "there is none")
    var migration = CommandLock(state.folder("a"))
    #expect(migration != nil)
    #expect(try state.lock("a", waiting: false) != nil)
    migration = nil
    #expect(!CommandLock.wait(state.folder("a")), "it has ended")
  }

  /// `gc`, and a control at rest, hold the run lock for as long as servers take.
  @Test func aCommandIsNoRunner() async throws {
    let state = try CoreFixture().state
    try state.make("a")
    var held = try state.lock("a", waiting: false)
    var command = CommandLock(state.folder("a"))
    #expect(held != nil)
    #expect(command != nil)
    #expect(try !state.isRunning("a"))
    async let run = Self.aside { try state.lock("a", waiting: false) }
    try await Self.untilALockIsWaitedFor()
    held = nil
    command = nil
    let lock = try await run
    #expect(lock != nil, "it is not refused")
    #expect(try state.isRunning("a"))
    withExtendedLifetime(lock) {}
  }
}
