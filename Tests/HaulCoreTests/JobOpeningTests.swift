import Endpoints
import Foundation
import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct JobOpeningTests {
  private func open(
    _ fixture: CoreFixture, _ text: String, name: String = "job.yaml",
    _ change: (inout RunSettings) -> Void = { _ in }
  ) throws -> JobOpening? {
    var settings = RunSettings()
    change(&settings)
    return try JobOpening.open(
      fixture.manifest(text, name: name), settings, state: fixture.state, reports: fixture.reports())
  }

  @Test func compilesOnceForTheSameInputs() throws {
    let fixture = try CoreFixture()
    let first = try #require(try open(fixture, CoreFixture.job))
    #expect(first.compiled.change.added == 2 && first.continued == nil)
    withExtendedLifetime(first) {}
    let page = try first.ledger.page(after: 0, onlyTouched: false, limit: 10)
    #expect(page.map(\.id) == ["one", "two"])
  }

  @Test func aRunThatWasStoppedGoesOn() throws {
    let fixture = try CoreFixture()
    let run = try {
      let opened = try #require(try open(fixture, CoreFixture.job))
      return try opened.ledger.startRun(
        id: opened.runID, overrides: [:], selecting: nil, at: 1_000_000_000)
    }()
    let again = try #require(try open(fixture, CoreFixture.job))
    #expect(again.continued?.number == run.number && again.runID == run.id)
    #expect(again.startedAt == run.startedAt)
  }

  /// The run starts when its plan is compiled: an attempt that goes on compiles with the same times and dates.
  @Test func theStartIsWhatThePlanWasCompiledWith() throws {
    let fixture = try CoreFixture()
    let text = CoreFixture.job.replacing("in/1.bin", with: "\"in/${run.date}/1.bin\"")
    let opened = try #require(try open(fixture, text))
    let page = try opened.ledger.page(after: 0, onlyTouched: false, limit: 1)
    #expect(page.first?.destination == .local("in/\(Timestamp.date(opened.startedAt))/1.bin"))
    #expect(opened.runID.hasPrefix(ULID.make(now: opened.startedAt).prefix(10)))
  }

  @Test func aSecondRunnerIsRefusedOrSkipped() throws {
    let fixture = try CoreFixture()
    let opened = try #require(try open(fixture, CoreFixture.job))
    let end = try #require(throws: End.self) { try open(fixture, CoreFixture.job) }
    #expect(end.status == .alreadyRunning)
    #expect(try open(fixture, CoreFixture.job) { $0.ifRunning = .skip } == nil)
    withExtendedLifetime(opened) {}
  }

  /// What it waits for may take hours: the manifest may be another one by then.
  @Test func aRunThatHasWaitedReadsItsManifestAgain() async throws {
    let fixture = try CoreFixture()
    var first = try open(fixture, CoreFixture.job)
    #expect(first != nil)
    let (file, state, reports) = (try fixture.manifest(CoreFixture.job), fixture.state, try fixture.reports())
    let waiting = Task.detached {
      var settings = RunSettings()
      settings.ifRunning = .wait
      return try JobOpening.open(file, settings, state: state, reports: reports)
    }
    while try !fixture.printed("errors").contains("waiting for its end") {
      try await Task.sleep(for: .milliseconds(5))
    }
    _ = try fixture.manifest(CoreFixture.job + "  - { id: three, download: \"web:b\", to: in/b }\n")
    first = nil
    let opened = try #require(try await waiting.value)
    let page = try opened.ledger.page(after: 0, onlyTouched: false, limit: 10)
    #expect(page.map(\.id) == ["one", "two", "three"])
  }

  /// A fault leaves no state behind that was not there before.
  @Test func aFaultyManifestLeavesNoState() throws {
    let fixture = try CoreFixture()
    let text = CoreFixture.job + "  - { id: one, download: \"web:b\", to: in/b }\n"
    let end = try #require(throws: End.self) { try open(fixture, text) }
    #expect(end.status == .invalidManifest)
    #expect(!FileManager.default.fileExists(atPath: fixture.state.path))
    #expect(try fixture.printed("errors").contains("error"))
  }

  @Test func oneNameBelongsToOneManifest() throws {
    let fixture = try CoreFixture()
    _ = try open(fixture, CoreFixture.job)
    let end = try #require(throws: End.self) { try open(fixture, CoreFixture.job, name: "other.yaml") }
    #expect(end.status == .invalidManifest)
    #expect(try open(fixture, CoreFixture.job, name: "other.yaml") { $0.adopt = true } != nil)
  }

  /// A part that has no state yet is one of the job that the others are of.
  @Test func oneNameBelongsToOneManifestInAllParts() throws {
    let fixture = try CoreFixture()
    func open(_ shard: String?, _ name: String, adopt: Bool = false) throws -> JobOpening? {
      var settings = RunSettings()
      settings.adopt = adopt
      let state = fixture.state.part(try shard.map { try Shard($0) })
      return try JobOpening.open(
        fixture.manifest(CoreFixture.job, name: name), settings, state: state,
        reports: ReportSink(targets: [], json: false, state: state, context: fixture.context()))
    }
    _ = try open("1/2", "job.yaml")
    for shard in ["2/2", "1/3", nil] {
      let end = try #require(throws: End.self) { try open(shard, "other.yaml") }
      #expect(end.status == .invalidManifest)
    }
    #expect(fixture.state.shards(of: "core").map(\.text) == ["1/2"], "nothing is left of what was refused")
    let second = try #require(try open("2/2", "job.yaml"))
    #expect(try second.ledger.meta(JobLedger.wholeCount) == "2", "transfers of both parts")
    #expect(try open("1/3", "other.yaml", adopt: true) != nil)
    try FileManager.default.removeItem(atPath: fixture.scratch.path + "/job.yaml")
    #expect(try open("2/3", "other.yaml") != nil)
  }

  /// Parts that were compiled from other values, or another imported file, are not parts of one plan.
  @Test func whatAPlanIsMadeOfIsOnRecord() throws {
    let fixture = try CoreFixture()
    let text = CoreFixture.job + "vars: { a: x }\nimports: [common.yaml]\n"
    func inputs(_ common: String, _ overrides: [String: String]) throws -> String? {
      _ = try fixture.scratch.write("common.yaml", common)
      let opened = try #require(try open(fixture, text) { $0.overrides = overrides })
      return try withExtendedLifetime(opened) { try opened.ledger.meta("inputs_sha256") }
    }
    let (one, other) = ("policies: { p: { transfers: 2 } }\n", "policies: { p: { transfers: 3 } }\n")
    let found = [try inputs(one, [:]), try inputs(one, ["a": "y"]), try inputs(other, [:])]
    #expect(Set(found).count == 3 && !found.contains(nil))
    #expect(try inputs(one, [:]) == found[0])
  }

  @Test func aStoppedRunKeepsItsOwnValues() throws {
    let fixture = try CoreFixture()
    let run = try {
      let opened = try #require(try open(fixture, CoreFixture.job))
      return try opened.ledger.startRun(id: opened.runID, overrides: ["a": "b"], selecting: nil, at: 1)
    }()
    #expect(try JobOpening.overrides([:], of: run) == ["a": "b"])
    #expect(try JobOpening.overrides(["a": "b"], of: run) == ["a": "b"])
    #expect(try JobOpening.overrides(["a": "c"], of: nil) == ["a": "c"])
    #expect(try #require(throws: End.self) { try JobOpening.overrides(["a": "c"], of: run) }.status == .usage)
  }

  /// A plan whose identities are of today's form has no former ones.
  @Test func aPlanOfTodayHasNoFormerIdentity() throws {
    let fixture = try CoreFixture()
    let opened = try #require(try open(fixture, CoreFixture.job))
    #expect(
      try FormerIdentity(
        opened.job, opened.ledger, manifest: opened.file.sha256, overrides: [:], dependsOnEnvironment: false)
        == nil)
  }

  @Test func endpointsAreDescribedWithoutTheManifest() throws {
    let fixture = try CoreFixture()
    let opened = try #require(try open(fixture, CoreFixture.job))
    let descriptions = try EndpointDescriptions(opened.ledger)
    let told = try opened.ledger.page(after: 0, onlyTouched: false, limit: 10).map {
      descriptions.describe($0)
    }
    #expect(told.map(\.protocol) == ["http", "http"])
    #expect(told.first?.url == "https://example.com/files/a/1.bin")
    #expect(
      try opened.ledger.page(after: 0, onlyTouched: false, limit: 1).compactMap(descriptions.capabilities)
        .count == 1)
  }

  @Test func nothingToListNeedsNoLister() throws {
    let fixture = try CoreFixture()
    let opened = try #require(try open(fixture, CoreFixture.job))
    #expect(
      try PrefixLister(
        opened.job, stateFolder: fixture.state.folder("core"), ledger: opened.ledger, fixture.context())
        == nil)
    #expect(RowSources(opened.job, RunValues(id: "R", startedAt: 1_767_225_600), opened.ledger) == nil)
  }
}
