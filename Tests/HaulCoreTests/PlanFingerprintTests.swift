import Endpoints
import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct PlanFingerprintTests {
  private static func job(_ transfer: String) -> String {
    "version: 1\njob: core\nendpoints: { web: { type: http, url: \"https://example.com\" } }\ntransfers:\n  - \(transfer)\n"
  }

  @Test func sameInputsGiveTheSame() throws {
    let fixture = try CoreFixture()
    let file = try fixture.manifest(CoreFixture.job)
    let read = file.read(overrides: [:])
    let job = try #require(read.job)
    func of(_ overrides: [String: String], _ run: String) -> String? {
      PlanFingerprint.of(
        job, file: file, read: read, overrides: overrides, run: RunValues(id: run, startedAt: 1_767_225_600))
    }
    #expect(of([:], "R") != nil)
    #expect(of([:], "R") == of([:], "S"), "nothing of the plan depends on the run")
    #expect(of([:], "R") != of(["a": "b"], "R"))
  }

  /// A changed import is a changed manifest.
  @Test func importsCount() throws {
    let fixture = try CoreFixture()
    let text = "imports: [lib/common.yaml]\n" + CoreFixture.job
    func of(_ common: String) throws -> String? {
      try fixture.scratch.write("lib/common.yaml", common)
      let file = try fixture.manifest(text)
      let read = file.read(overrides: [:])
      return PlanFingerprint.of(
        try #require(read.job, "\(read.diagnostics)"), file: file, read: read, overrides: [:],
        run: RunValues(id: "R", startedAt: 1_767_225_600))
    }
    let first = try of("vars: { a: b }")
    #expect(try first != nil && first == of("vars: { a: b }") && first != of("vars: { a: c }"))
  }

  /// What can't be told without looking at it has no fingerprint.
  @Test func noneForUploads() throws {
    let transfer = #"{ id: up, upload: up.bin, to: "web:up.bin" }"#
    let fixture = try CoreFixture()
    let file = try fixture.manifest(Self.job(transfer))
    let read = file.read(overrides: [:])
    let job = try #require(read.job, "\(read.diagnostics)")
    #expect(
      PlanFingerprint.of(
        job, file: file, read: read, overrides: [:], run: RunValues(id: "R", startedAt: 1_767_225_600)) == nil
    )
  }

  @Test func theRunCountsWhereTheManifestNamesIt() throws {
    let fixture = try CoreFixture()
    let file = try fixture.manifest(Self.job(#"{ id: a, download: "web:a", to: "in/${run.id}/a" }"#))
    let read = file.read(overrides: [:])
    let job = try #require(read.job, "\(read.diagnostics)")
    let both = ["R", "S"].map {
      PlanFingerprint.of(job, file: file, read: read, overrides: [:], run: RunValues(id: $0, startedAt: 0))
    }
    #expect(both[0] != nil && both[0] != both[1])
  }

  @Test func aFileThatJustChangedIsNotSettled() throws {
    let fixture = try CoreFixture()
    let path = try fixture.scratch.write("rows.csv", "a")
    let before = PlanFingerprint.identity(path)
    #expect(before != nil)
    try fixture.scratch.write("rows.csv", "longer")
    #expect(PlanFingerprint.identity(path) != before)
    #expect(PlanFingerprint.identity(path + ".none") == nil)
  }
}
