import Foundation
import TestSupport
import Testing

/// What goes wrong with S3, against a fake that is as strict as the real one.
@Suite(.turns)
struct S3FaultsTests {
  private static let part = 5 << 20
  private static let environment = StrictS3.environment

  private func job(_ s3: StrictS3, _ transfers: [String], _ more: String = "", auth: String? = nil) -> String
  {
    """
    version: 1
    job: strict
    policies: { p: { retry: { attempts: 4, initial: 10ms, max: 50ms } } }
    endpoints: { s3: \(s3.endpoint("multipart_threshold: 5MiB" + (more.isEmpty ? "" : ", " + more), auth: auth)) }
    defaults: { chunk_size: 5MiB, policy: p }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  private let roundTrip = [
    "{ id: up, upload: a.bin, to: \"s3:in/a.bin\" }",
    "{ id: down, download: \"s3:in/a.bin\", to: b.bin, needs: [up] }",
  ]

  private func isSame(_ bench: Bench) throws -> Bool {
    let mine = try Sums.file(bench.job + "/a.bin")
    return try mine != nil && mine == Sums.file(bench.job + "/b.bin")
  }

  @Test(arguments: ["crc64nvme", "sha256", "none"], [0, 1, 3 * part + 7])
  func whatAWSWouldRefuseIsNotSent(_ checksum: String, _ size: Int) async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: ["\"page\": 2"])
    try bench.source("a.bin", size: size)
    let run = try await bench.run(
      job(s3, roundTrip, "checksum: \(checksum), tags: { a: \"b c\" }"), environment: Self.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try isSame(bench))
    // That an object is empty, and has no first byte, is what a first range is told.
    #expect(s3.log().allSatisfy { $0.status < 400 || $0.op == "head" || $0.status == 416 && size == 0 })
    #expect((run["up"]["version"].string ?? "").hasPrefix("v"))
    #expect(run["down"]["version"] == run["up"]["version"])
    #expect(run["up"]["remote_id"].string == "bkt/in/a.bin")
    let checks = run["up"]["verification"].array.filter { $0["result"].string == "match" }
    let wanted = checksum == "sha256" ? size > Self.part ? "sha256-of-parts" : "sha256" : "crc64nvme"
    #expect(checks.contains { $0["check"].string == wanted }, "\(run["up"]["verification"])")
  }

  /// Passing faults at each kind of request, and how often a body crosses the network for them.
  @Test(arguments: [
    ("create", "slowdown", 0), ("create", "drop_after", 0), ("part", "slowdown", 1), ("part", "internal", 1),
    ("part", "drop_before", 1), ("part", "drop_after", 0), ("part", "flip", 1), ("complete", "internal", 0),
    ("complete", "error200", 0), ("complete", "drop_after", 0), ("complete", "slowdown", 0),
    ("get", "slowdown", 0), ("get", "internal", 0), ("head", "internal", 0), ("complete", "conflict", 4),
  ])
  func passingFaults(_ place: String, _ fault: String, _ again: Int) async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: ["\"faults\": [{\"on\": \"\(place)\", \"do\": \"\(fault)\"}]"])
    try bench.source("a.bin", size: 4 * Self.part)
    let run = try await bench.run(job(s3, roundTrip), environment: Self.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try isSame(bench))
    let parts = s3.log().filter { $0.op == "part" }
    #expect(parts.count == 4 + again, "\(parts.map(\.line))")
    #expect(s3.log().contains { $0.line["fault"].string == fault })
  }

  @Test(arguments: ["crc64nvme", "sha256", "none"])
  func lostAnswerOfCompleteIsFoundOut(_ checksum: String) async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(
      bench,
      config: ["\"faults\": [{\"on\": \"complete\", \"do\": \"drop_after\"}]", "\"silent_complete\": true"])
    try bench.source("a.bin", size: 3 * Self.part)
    let run = try await bench.run(job(s3, roundTrip, "checksum: \(checksum)"), environment: Self.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try isSame(bench))
    #expect(s3.log().filter { $0.op == "part" }.count == 3)
    #expect(
      run["up"]["verification"].array.contains {
        $0["against"].string == "server" && $0["result"].string == "match" && $0["check"].string != "size"
      })
  }

  /// A store whose ETags are no MD5s, and which tells no checksums: nothing is taken for damage, nor for proof.
  @Test func etagsThatAreNoMD5s() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: ["\"odd_etags\": true", "\"silent_complete\": true"])
    try bench.source("a", size: 1000)
    try bench.source("b", size: 2 * Self.part + 7)
    let lines = [
      "{ id: a, upload: a, to: \"s3:a\" }", "{ id: b, upload: b, to: \"s3:b\", needs: [a] }",
      "{ id: c, upload: a, to: \"s3:c\", needs: [b] }",
    ]
    let run = try await bench.run(job(s3, lines, "checksum: none"), environment: Self.environment)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    for id in ["a", "b", "c"] {
      let results = run[id]["verification"].array.filter { $0["check"].string != "size" }
      #expect(results.map { $0["result"].string } == ["unavailable"], "\(results)")
    }
    // The first body goes once more, and from then on each with its MD5.
    let bodies = s3.log().filter { ["put", "part"].contains($0.op) }
    #expect(bodies.map { $0.header("content-md5") != nil } == [false] + Array(repeating: true, count: 5))
    #expect(bodies.allSatisfy { $0.status == 200 })
    let more = [
      "{ id: d, upload: a, to: \"s3:d\", verify: readback }",
      "{ id: e, upload: a, to: \"s3:e\", verify: required, needs: [d] }",
    ]
    let others = try await bench.run(
      job(s3, more, "checksum: none"), ["--new-run"], environment: Self.environment)
    #expect(others.state("d") == "completed", "\(others.errors)")
    #expect(others.state("e") == "failed DIGEST_UNAVAILABLE", "\(others.errors)")
  }

  @Test func lostAnswerOfAConditionalPut() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: ["\"faults\": [{\"on\": \"put\", \"do\": \"drop_after\"}]"])
    try bench.source("a.bin", size: 1000)
    let run = try await bench.run(
      job(s3, ["{ id: up, upload: a.bin, to: \"s3:a\", if_exists: fail }"]), environment: Self.environment)
    #expect(run.state("up") == "completed", "\(run.errors)")
    #expect(s3.log().filter { $0.op == "put" }.map(\.status) == [0, 412])
    let bytes = run["up"]["bytes"]
    let (moved, discarded) = (bytes["transferred"].int ?? 0, bytes["discarded"].int ?? 0)
    #expect(moved - discarded == 1000, "what stands there was sent in this run")
    #expect(s3.log().filter { $0.op == "put" }.allSatisfy { $0.header("if-none-match") == "*" })
  }

  @Test func refusalsSayWhatToDo() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: ["\"region\": \"eu-west-1\""])
    try bench.source("a.bin", size: 10)
    let put = ["{ id: x, upload: a.bin, to: \"s3:a\" }"], get = ["{ id: x, download: \"s3:a\", to: b.bin }"]
    func end(_ yaml: String, _ environment: [String: String] = Self.environment) async throws -> (
      String, String
    ) {
      let run = try await bench.run(yaml, ["--new-run"], environment: environment)
      return (run.state("x"), run["x"]["error"]["message"].string ?? "")
    }
    var (state, message) = try await end(job(s3, put, "checksum: none"))
    #expect(
      state == "failed FORBIDDEN" && message.contains("write `region: eu-west-1`"), "\(state) \(message)")
    (state, message) = try await end(
      job(s3, put, "region: eu-west-1").replacing("bucket: bkt", with: "bucket: nope"))
    #expect(state == "failed NOT_FOUND" && message.contains("NoSuchBucket"), "\(state) \(message)")
    (state, message) = try await end(job(s3, get, "region: eu-west-1"))
    #expect(state == "failed NOT_FOUND", "\(state) \(message)")
    (state, message) = try await end(
      job(s3, put, "region: eu-west-1"), ["AWS_ACCESS_KEY_ID": StrictS3.id, "AWS_SECRET_ACCESS_KEY": "wrong"])
    #expect(state == "failed UNAUTHORIZED" || state == "failed FORBIDDEN", "\(state) \(message)")
    let keyless = try await bench.run(job(s3, put, "region: eu-west-1"), ["--new-run"])
    #expect(keyless.status == 66 && keyless.errors.contains("AWS_ACCESS_KEY_ID"), "\(keyless.errors)")
  }

  @Test(arguments: [3600, -3600])
  func aWrongClockIsCuredAndSaid(_ skew: Int) async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: ["\"skew\": \(skew)"])
    try bench.source("a.bin", size: 2 * Self.part)
    let run = try await bench.run(job(s3, roundTrip), environment: Self.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try isSame(bench))
    #expect(run.remarks.contains("60 minutes \(skew > 0 ? "behind" : "ahead of")"), "\(run.remarks)")
  }

  /// Its parts are those of another upload, or gone: the service's word counts.
  @Test func partsThatTheServiceLostAreSentAgain() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(
      bench, config: ["\"faults\": [{\"on\": \"parts\", \"do\": \"internal\", \"times\": 9}]"])
    try bench.source("a.bin", size: 2 * Self.part)
    let run = try await bench.run(job(s3, roundTrip), environment: Self.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try isSame(bench))
  }

  @Test func prefixesAreListedInPages() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: ["\"page\": 3"])
    let names = ["a", "b/c", "b/d e+f", "ü", "b//g", "z.tmp", ".dot", "p%20q"]
    for (number, name) in names.enumerated() {
      try bench.source("tree/\(number)", size: number * 10, seed: UInt64(number + 1))
      _ = name
    }
    let ups = names.enumerated().map {
      "{ id: u\($0.offset), upload: tree/\($0.offset), to: \(quoted("s3:2026/" + $0.element)) }"
    }
    let up = try await bench.run(
      job(s3, ups + ["{ id: mark, upload: tree/0, to: \"s3:2026/marker\" }"]), environment: Self.environment)
    #expect(up.status == 0, "\(up.errors)")
    let yaml = """
      version: 1
      job: listed
      endpoints: { s3: \(s3.endpoint()) }
      transfers:
        - { id: all, download: "s3:2026/", to: out/, exclude: ["*.tmp", marker] }
      """
    let run = try await bench.run(yaml, environment: Self.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.totals["transfers"].int == 7)
    let sums = try Sums.tree(bench.job + "/out")
    let tree = try Sums.tree(bench.job + "/tree")
    #expect(sums.count == 7 && Set(sums.values).isSubset(of: Set(tree.values)), "\(sums.keys)")
    #expect(s3.log().filter { $0.op == "list" }.count == 3)
    let check = try await bench.haul(["check", "job.yaml"], environment: Self.environment)
    #expect(check.status == 0, "\(check.errors)")
    #expect(s3.log().filter { $0.op == "list" }.count == 3, "check contacts nobody")
    await s3.process.end()
    let away = try await bench.run(nil, environment: Self.environment, limit: .seconds(200))
    #expect(away.status == 75 || Loopback.isTaken(portOf: s3.url), "\(away.errors)")
  }
}
