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
        job, file: file, read: read, overrides: overrides, run: RunValues(id: run, startedAt: 1_767_225_600))?
        .whole
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
        run: RunValues(id: "R", startedAt: 1_767_225_600))?.whole
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
      PlanFingerprint.of(job, file: file, read: read, overrides: [:], run: RunValues(id: $0, startedAt: 0))?
        .whole
    }
    #expect(both[0] != nil && both[0] != both[1])
  }

  /// Entries of an inventory whose times count back from the run's start are other ones in each run.
  @Test(arguments: [("{ modified: { before: 1d } }", true), ("{ modified: { after: 2026-01-01 } }", false)])
  func timesThatCountBack(_ bounds: String, _ isOfRun: Bool) async throws {
    let fixture = try CoreFixture()
    try fixture.scratch.write("manifest.json", "{}")
    let file = try fixture.manifest(
      """
      version: 1
      job: core
      endpoints: { s3: { type: s3, url: "https://example.com", bucket: b } }
      transfers: [{ id: m, for_each: { inventory: manifest.json }, download: "s3:in/", to: in/, where: \(bounds) }]

      """)
    let read = file.read(overrides: [:])
    let job = try #require(read.job, "\(read.diagnostics)")
    // A file that was written just now may change again, unseen.
    try await Task.sleep(for: .milliseconds(300))
    let found = [0.0, 0.0, 86_400.0].map {
      PlanFingerprint.of(job, file: file, read: read, overrides: [:], run: RunValues(id: "R", startedAt: $0))
    }
    #expect(found.allSatisfy { $0?.rows == nil })
    let marks = found.map { $0?.whole }
    #expect(marks[0] != nil && marks[0] == marks[1] && (marks[0] != marks[2]) == isOfRun)
  }

  /// Rows may be compared with those of the last compile where each transfer follows from its own row.
  @Test(
    arguments: [
      (#"{ id: a, for_each: { csv: rows.csv }, download: "web:${each.k}", to: "in/${each.k}" }"#, true),
      (
        #"{ id: a, for_each: { csv: rows.csv }, download: "web:${each.k}", to: "in/${each.k}", needs: [b] }"#,
        false
      ),
    ])
  func rowsThatFollowFromThemselves(_ transfer: String, _ isByRow: Bool) throws {
    let fixture = try CoreFixture()
    try fixture.scratch.write("rows.csv", "k\nx\n")
    let file = try fixture.manifest(Self.job(transfer + "\n  - { id: b, download: \"web:b\", to: b }"))
    let read = file.read(overrides: [:])
    let job = try #require(read.job, "\(read.diagnostics)")
    func of(_ shard: Shard? = nil) -> String? {
      PlanFingerprint.of(
        job, file: file, read: read, overrides: [:], run: RunValues(id: "R", startedAt: 0), shard: shard)?
        .rows
    }
    let first = of()
    #expect((first != nil) == isByRow)
    #expect(try of(Shard("1/2")) == nil)
    try fixture.scratch.write("rows.csv", "k\nx\ny\n")
    #expect(of() == first)
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
