import Foundation
import Testing
import TestSupport

@testable import HaulCore

struct SuggestionsTests {
  private let fixture: CoreFixture

  /// A state with one job, which has two transfers.
  init() throws {
    fixture = try CoreFixture()
    let file = try fixture.manifest(CoreFixture.job)
    _ = try #require(
      try JobOpening.open(file, RunSettings(), state: fixture.state, reports: fixture.reports()))
  }

  private func suggestions(_ line: [String], marksFolders: Bool = true) -> Suggestions {
    Suggestions(
      words: line, index: line.count - 1, prefix: line.last ?? "", marksFolders: marksFolders,
      fixture.environment)
  }

  @Test func idsOfTheNamedJob() {
    let manifest = fixture.scratch.path + "/job.yaml"
    for state in [
      ["--state-dir", fixture.state.path], ["--state-dir", "=", fixture.state.path],
      ["--state-dir=\(fixture.state.path)"], ["--state-dir", "~/state"],
    ] {
      for job in ["core", "'core'", manifest] {
        #expect(
          suggestions(["haul", "pause"] + state + [job, ""]).ids == ["one", "two"], "\(state) \(job)")
      }
    }
    let line = ["haul", "pause", "--state-dir", fixture.state.path]
    #expect(suggestions(line + ["core", "t"]).ids == ["two"])
    #expect(suggestions(line + ["core", "x"]).ids == [])
    #expect(suggestions(line + ["other", ""]).ids == [])
    #expect(suggestions(["haul"]).ids == [] && suggestions([]).ids == [])
  }

  @Test func jobsManifestsAndFolders() throws {
    let folder = fixture.scratch.path + "/names"
    for name in ["core.yaml", "core.yml", "core.txt", "core/x", ".core.yaml"] {
      try fixture.scratch.write("names/" + name, "")
    }
    let line = ["haul", "status", "--state-dir", fixture.state.path]
    #expect(suggestions(line + ["co"]).jobs.first == "core")
    #expect(
      suggestions(line + [folder + "/"]).jobs == ["/core/", "/core.yaml", "/core.yml"].map { folder + $0 })
    #expect(suggestions(line + [folder + "/core"], marksFolders: false).jobs.first == folder + "/core")
    #expect(suggestions(line + [folder + "/.c"]).jobs == [folder + "/.core.yaml"])
    #expect(suggestions(line + [folder + "/none/"]).jobs == [])
  }

  /// bash expands the words that it is offered.
  @Test(arguments: [
    "$(touch x).yaml", "`id`.yaml", "a b.yaml", "a;b.yaml", "a'b.yaml", "*.yaml", "a\nb.yaml",
  ])
  func noNameIsACommand(_ name: String) throws {
    try fixture.scratch.write("names/" + name, "")
    try fixture.scratch.write("names/grün.yaml", "")
    let folder = fixture.scratch.path + "/names/"
    #expect(suggestions(["haul", "status", folder]).jobs == [folder + "grün.yaml"])
  }

  /// A reader that leaves a log or an index behind would change what the next command finds.
  @Test func nothingIsLeftBehind() throws {
    let state = fixture.state.folder("core")
    _ = try Sums.shell(
      "sqlite3 plan.sqlite 'PRAGMA wal_checkpoint(TRUNCATE)'; rm -f plan.sqlite-*", in: state)
    let files = try FileManager.default.contentsOfDirectory(atPath: state).sorted()
    let line = ["haul", "pause", "--state-dir", fixture.state.path, "core", ""]
    #expect(suggestions(line).ids == ["one", "two"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: state).sorted() == files)
  }

  @Test func aDamagedPlanSuggestsNothing() throws {
    try fixture.scratch.write("state/core/plan.sqlite", "not a database, but long enough to be looked at")
    #expect(suggestions(["haul", "pause", "--state-dir", fixture.state.path, "core", ""]).ids == [])
  }
}
