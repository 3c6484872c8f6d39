import JobModel
import LocalFiles
import Testing

@testable import Transfers

/// What is compared of a file that came, what is told of it, and what fails.
struct DownloadVerificationTests {
  /// What a verification told. Used by one test alone.
  private final class Told {
    var checks: [Verification] = []
  }

  private func verification(
    _ told: Told, _ expect: JobModel.Expectation = JobModel.Expectation(), _ level: VerifyLevel = .available
  ) -> DownloadVerification {
    DownloadVerification(expect, level, of: "http://h/a") { told.checks.append($0) }
  }

  @Test(arguments: [
    Size(actual: 5, told: 5, checks: [Verification("size", .server, .match)]),
    Size(actual: 5, told: nil, checks: [Verification("size", .server, .unavailable)]),
    Size(
      actual: 5, told: 5, expected: 5,
      checks: [Verification("size", .server, .match), Verification("size", .manifest, .match)]),
    Size(
      actual: 5, told: 5, expected: 6,
      checks: [Verification("size", .server, .match), Verification("size", .manifest, .mismatch)],
      code: .lengthMismatch),
    Size(actual: 4, told: 5, checks: [Verification("size", .server, .match)], code: .ioError),
  ]) func sizes(_ size: Size) {
    let told = Told()
    let verification = verification(told, JobModel.Expectation(size: size.expected))
    do {
      #expect(try verification.checkSize(size.actual, told: size.told, in: "out/a") == size.actual)
      #expect(size.code == nil)
    } catch {
      #expect(error.code == size.code)
    }
    #expect(told.checks == size.checks)
  }

  struct Size: Sendable {
    var actual: Int64
    var told: Int64?
    var expected: Int64?
    var checks: [Verification]
    var code: ErrorCode?
  }

  private let found: [DigestAlgorithm: String] = [.sha256: "aa", .md5: "bb"]

  @Test func digestsOfBothSidesAreCompared() throws {
    let told = Told()
    try verification(told, JobModel.Expectation(digests: [.sha256: "aa"])).checkDigests(
      found, promised: [.sha256: "aa", .md5: "bb"])
    #expect(
      told.checks == [
        Verification("sha256", .manifest, .match), Verification("md5", .server, .match),
        Verification("sha256", .server, .match),
      ])
  }

  @Test func theManifestIsComparedFirst() {
    let told = Told()
    let failure = #expect(throws: Failure.self) {
      try verification(told, JobModel.Expectation(digests: [.sha256: "00"])).checkDigests(
        found, promised: [.md5: "00"])
    }
    #expect(failure?.code == .integrityMismatch && failure?.class == .damaged(chunk: nil))
    #expect(failure?.expected == "00" && failure?.actual == "aa")
    #expect(told.checks == [Verification("sha256", .manifest, .mismatch)])
  }

  @Test func whereNobodyVouches() throws {
    let told = Told()
    try verification(told).checkDigests(found, promised: [:])
    #expect(told.checks == [Verification("sha256", .server, .unavailable)])
    let silent = Told()
    try verification(silent, JobModel.Expectation(), .size).checkDigests([:], promised: [.sha256: "00"])
    #expect(silent.checks.isEmpty, "`verify: size` compares no digest that a server offers")
    let expecting = Told()
    #expect(throws: Failure.self) {
      try verification(expecting, JobModel.Expectation(digests: [.sha256: "00"]), .size).checkDigests(
        found, promised: [:])
    }
    #expect(expecting.checks == [Verification("sha256", .manifest, .mismatch)], "but what is expected")
  }

  @Test func types() async throws {
    let (told, pool) = (Told(), BlockingPool(label: "test", width: 1))
    let verification = verification(told, JobModel.Expectation(type: "image/png"))
    let failure = await #expect(throws: Failure.self) {
      try await verification.checkType(size: 4, on: pool) { _, count in [UInt8](repeating: 0, count: count) }
    }
    #expect(failure?.code == .typeMismatch && told.checks == [Verification("type", .manifest, .mismatch)])
    try await self.verification(told).checkType(size: 4, on: pool) { _, _ in
      Issue.record("nothing is expected")
      return []
    }
  }
}
