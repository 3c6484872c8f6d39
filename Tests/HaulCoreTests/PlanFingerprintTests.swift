import JobLedger
import JobManifest
import TestSupport
import TransferEngine
import Endpoints
import JobModel
import Testing

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
        job, file: file, read: read, overrides: overrides, run: RunValues(id: run, date: "2026-01-01"))
    }
    #expect(of([:], "R") != nil)
    #expect(of([:], "R") == of([:], "S"), "nothing of the plan depends on the run")
    #expect(of([:], "R") != of(["a": "b"], "R"))
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
        job, file: file, read: read, overrides: [:], run: RunValues(id: "R", date: "2026-01-01")) == nil)
  }

  @Test func theRunCountsWhereTheManifestNamesIt() throws {
    let fixture = try CoreFixture()
    let file = try fixture.manifest(Self.job(#"{ id: a, download: "web:a", to: "in/${run.id}/a" }"#))
    let read = file.read(overrides: [:])
    let job = try #require(read.job, "\(read.diagnostics)")
    let both = ["R", "S"].map {
      PlanFingerprint.of(job, file: file, read: read, overrides: [:], run: RunValues(id: $0, date: "d"))
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
