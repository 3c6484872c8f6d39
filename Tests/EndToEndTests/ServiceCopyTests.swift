import Foundation
import TestSupport
import Testing

/// Copies within one S3 service: it copies by itself, and no byte passes through haul.
@Suite(.turns)
struct ServiceCopyTests {
  private static let part = 5 << 20
  private static let size = 4 * part + 77
  private static let environment = StrictS3.environment

  private struct Ends {
    let bench: Bench
    let s3: StrictS3

    init(_ config: [String] = []) async throws {
      bench = try Bench()
      s3 = try await StrictS3(bench, config: config)
    }

    func job(_ transfers: [String], _ more: String = "multipart_threshold: 5MiB", name: String = "copies")
      -> String
    {
      """
      version: 1
      job: \(name)
      policies: { p: { retry: { attempts: 3, initial: 10ms, max: 50ms } } }
      endpoints:
        s3: \(s3.endpoint(more))
        again: \(s3.endpoint())
        other: \(s3.endpoint(auth: "{ aws: { access_key_id: \(StrictS3.id), secret_access_key: { env: AWS_SECRET_ACCESS_KEY } } }"))
      defaults: { policy: p }
      transfers:
      \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
      """
    }

    func run(_ yaml: String?, _ options: [String] = []) async throws -> HaulRun {
      try await bench.run(yaml, options, environment: StrictS3.environment)
    }

    /// Puts a file there; gives its SHA-256.
    @discardableResult
    func upload(_ name: String, size: Int, seed: UInt64 = 1, _ more: String = "multipart_threshold: 5MiB")
      async throws -> String
    {
      try bench.source("up/" + name, size: size, seed: seed)
      let run = try await run(
        job(["{ id: up, upload: up/\(name), to: \"s3:\(name)\", chunk_size: 5MiB }"], more, name: "up"))
      try #require(run.status == 0, "\(run.errors)")
      return try #require(try Sums.file(bench.job + "/up/" + name))
    }

    /// SHA-256s of what was put in place under a key, in order.
    func published(_ key: String) -> [String] { s3.log().filter { $0.key == key }.compactMap(\.published) }
    /// Requests by what they do, but those that put the sources there.
    func count(_ op: String) -> Int { s3.log().filter { $0.op == op }.count }
  }

  private func has(_ transfer: JSON, _ check: String, _ against: String = "server") -> Bool {
    transfer["verification"].array.contains {
      $0["check"].string == check && $0["against"].string == against && $0["result"].string == "match"
    }
  }

  @Test func noBytePassesThroughHaul() async throws {
    let ends = try await Ends()
    let large = try await ends.upload("large", size: Self.size)
    let small = try await ends.upload("ä b+c/small&", size: 1234, seed: 2)
    try await ends.upload("empty", size: 0)
    let before = ends.s3.log().count
    let copies = [
      "{ id: large, copy: \"s3:large\", to: \"again:copy/large\" }",
      "{ id: small, copy: \"s3:ä b+c/small&\", to: \"s3:copy/ä b+c/small&\", verify: required, expect: { size: 1234 } }",
      "{ id: empty, copy: \"s3:empty\", to: \"s3:copy/empty\" }",
      "{ id: parts, copy: \"s3:large\", to: \"s3:copy/parts\", chunk_size: 5MiB, verify: required }",
    ]
    let run = try await ends.run(ends.job(copies))
    #expect(run.status == 0 && run.faults == "", "\(run.errors) \(run.faults)")
    #expect(run.remarks == "", "\(run.remarks)")
    for id in ["large", "small", "empty", "parts"] {
      #expect(run.state(id) == "completed" && run[id]["copied_by"].string == "service", "\(id)")
      #expect(has(run[id], "crc64nvme") && has(run[id], "size"), "\(id): \(run[id]["verification"])")
      #expect(run[id]["bytes"]["transferred"].int == 0 && run[id]["digests"]["crc64nvme"].string != nil)
    }
    #expect(run.transferred == 0)
    let visits = Array(ends.s3.log()[before...])
    #expect(visits.allSatisfy { $0.op != "get" && $0.op != "part" && $0.op != "put" })
    #expect(visits.allSatisfy { $0.sent < 4096 && $0.received < 4096 }, "no body")
    #expect(visits.filter { $0.op == "copy" }.count == 3 && visits.filter { $0.op == "copypart" }.count == 5)
    #expect(ends.published("copy/large") == [large] && ends.published("copy/parts") == [large])
    #expect(ends.published("copy/ä b+c/small&") == [small])
    #expect(
      run["parts"]["chunks"]["completed"].int == 5 && run["parts"]["chunk_size"].int == Int64(Self.part))
    let again = try await ends.run(nil)
    #expect(again.status == 0 && again.totals["up_to_date"].int == 4, "\(again.errors)")
    #expect(ends.count("copy") == 3 && ends.count("copypart") == 5)
    // Another job finds what stands there by its checksum.
    let other = try await ends.run(ends.job([copies[1]], name: "others"))
    #expect(other.totals["up_to_date"].int == 1 && ends.count("copy") == 3, "\(other.errors)")
  }

  /// Another credential may not read the source, though the service is one; what only the bytes tell needs them.
  @Test func whatAsksForTheBytes() async throws {
    let ends = try await Ends()
    let sum = try await ends.upload("a", size: 1000)
    let source = "copy: \"s3:a\""
    let run = try await ends.run(
      ends.job([
        "{ id: digest, \(source), to: \"s3:b\", expect: { sha256: \(sum) } }",
        "{ id: back, \(source), to: \"s3:c\", verify: readback }",
        "{ id: other, \(source), to: \"other:d\" }",
        "{ id: size, \(source), to: \"s3:e\", expect: { size: 1000 } }",
        "{ id: wrong, \(source), to: \"s3:f\", expect: { size: 1001 } }",
        "{ id: nothing, copy: \"s3:none\", to: \"s3:g\" }",
      ]))
    for id in ["digest", "back", "other"] {
      #expect(run.state(id) == "completed" && run[id]["copied_by"].string == "relay", "\(id) \(run.errors)")
      #expect(run[id]["bytes"]["transferred"].int ?? 0 >= 1000, "\(id)")
    }
    #expect(run["size"]["copied_by"].string == "service" && run.state("size") == "completed")
    #expect(run.state("wrong") == "failed LENGTH_MISMATCH" && run.state("nothing") == "failed NOT_FOUND")
    #expect(ends.count("copy") == 1)
    #expect(run.remarks == "", "\(run.remarks)")
  }

  /// A store that has the expected digest vouches for it.
  @Test func anExpectedDigestThatTheStoreTells() async throws {
    let ends = try await Ends()
    let sum = try await ends.upload("a", size: 1000, "checksum: sha256")
    let run = try await ends.run(
      ends.job(["{ id: one, copy: \"s3:a\", to: \"s3:b\", expect: { sha256: \(sum) } }"]))
    #expect(run.status == 0 && run["one"]["copied_by"].string == "service", "\(run.errors)")
    #expect(has(run["one"], "sha256", "manifest") && has(run["one"], "sha256"))
  }

  @Test func whereNoChecksumIsTold() async throws {
    let ends = try await Ends(["\"odd_etags\": true"])
    try await ends.upload("a", size: 1000)
    let run = try await ends.run(
      ends.job([
        "{ id: etag, copy: \"s3:a\", to: \"s3:b\" }",
        "{ id: size, copy: \"s3:a\", to: \"s3:c\", if_exists: keep }",
      ]))
    #expect(run.status == 0, "\(run.errors)")
    #expect(
      run["etag"]["copied_by"].string == "service" && has(run["etag"], "etag") && has(run["etag"], "size"))
    // By parts the ETag is another: the size is all there is to compare, and the report says so.
    #expect(run["size"]["copied_by"].string == "service" && has(run["size"], "size"))
    #expect(
      run["size"]["verification"].array.contains { $0["result"].string == "unavailable" },
      "\(run["size"]["verification"])")
  }

  /// An error may come late, behind a 200; a passing one is tried again.
  @Test(arguments: ["error200", "internal", "slowdown", "drop_after", "drop_before"])
  func passingFaults(_ fault: String) async throws {
    let ends = try await Ends()
    let sum = try await ends.upload("a", size: Self.size)
    try ends.s3.set([
      "\"faults\": [{\"on\": \"copy\", \"do\": \"\(fault)\"}, {\"on\": \"copypart\", \"from\": 2, \"do\": \"\(fault)\"}]"
    ])
    let run = try await ends.run(
      ends.job([
        "{ id: whole, copy: \"s3:a\", to: \"s3:b\" }",
        "{ id: parts, copy: \"s3:a\", to: \"s3:c\", chunk_size: 5MiB }",
      ]))
    #expect(run.status == 0 && run.faults == "", "\(run.errors) \(run.faults)")
    for id in ["whole", "parts"] { #expect(run[id]["copied_by"].string == "service", "\(id)") }
    #expect(run.transferred == 0)
    #expect(Set(ends.published("b")) == [sum] && ends.published("c") == [sum])
  }

  /// What the service does not do, or not right, is done by haul; what was opened is ended.
  @Test(arguments: ["unimplemented", "denied", "ignorant"]) func relaysInstead(_ fault: String) async throws {
    let ends = try await Ends()
    let sum = try await ends.upload("a", size: Self.size)
    try ends.s3.set([
      "\"faults\": [{\"on\": \"copy\", \"times\": 9, \"do\": \"\(fault)\"}, {\"on\": \"copypart\", \"times\": 99, \"do\": \"\(fault == "ignorant" ? "denied" : fault)\"}]"
    ])
    for (id, more) in [("whole", ""), ("parts", ", chunk_size: 5MiB, if_exists: fail")] {
      let run = try await ends.run(
        ends.job(["{ id: \(id), copy: \"s3:a\", to: \"s3:\(id)\"\(more) }"], name: id))
      #expect(run.status == 0 && run.faults == "", "\(run.errors) \(run.faults)")
      #expect(run[id]["copied_by"].string == "relay" && run.state(id) == "completed")
      #expect(run[id]["bytes"]["transferred"].int == Int64(Self.size))
      #expect(run.remarks.contains("did not copy it by itself"), "\(run.remarks)")
      #expect(ends.published(id).last == sum)
    }
    let log = ends.s3.log()
    let closed = log.filter { ["complete", "abort"].contains($0.op) && $0.status < 300 }.count
    #expect(log.filter { $0.op == "create" && $0.status == 200 }.count == closed, "no upload stays open")
  }

  /// A source that another client replaces half-way: begun anew once, then told.
  @Test func aSourceThatChanges() async throws {
    for (times, state) in [(1, "completed"), (99, "failed REMOTE_CHANGED")] {
      let ends = try await Ends()
      let first = try await ends.upload("a", size: Self.size)
      try ends.s3.set([
        "\"faults\": [{\"on\": \"copypart\", \"from\": 3, \"times\": \(times), \"do\": \"intrude\"}]"
      ])
      let run = try await ends.run(
        ends.job(["{ id: one, copy: \"s3:a\", to: \"s3:b\", chunk_size: 5MiB }"]))
      #expect(run.state("one") == state, "\(run.errors)")
      #expect(run.remarks.contains("changed while it was copied"), "\(run.remarks)")
      // Never parts of two versions.
      #expect(ends.published("b").count == (times == 1 ? 1 : 0) && !ends.published("b").contains(first))
      #expect(run.transferred == 0)
      let ended = ends.s3.log().filter { $0.op == "abort" && $0.status == 204 }.count
      #expect(ended >= 1)
    }
  }

  /// A store that keeps to no condition of the source is found out before the copy appears.
  @Test func aConditionThatTheStoreIgnores() async throws {
    let ends = try await Ends()
    let first = try await ends.upload("a", size: Self.size)
    try ends.s3.set([
      "\"unconditional\": true", "\"faults\": [{\"on\": \"copypart\", \"from\": 3, \"do\": \"intrude\"}]",
    ])
    let run = try await ends.run(
      ends.job(["{ id: one, copy: \"s3:a\", to: \"s3:b\", chunk_size: 5MiB }"]))
    #expect(run.state("one") == "completed" && run.remarks.contains("changed while it was copied"))
    #expect(ends.published("b").count == 1 && !ends.published("b").contains(first))
  }

  @Test func whatStandsThere() async throws {
    let ends = try await Ends()
    let sum = try await ends.upload("a", size: 1000)
    try await ends.upload("b", size: 2000, seed: 2)
    let run = try await ends.run(
      ends.job([
        "{ id: kept, copy: \"s3:a\", to: \"s3:b\", if_exists: keep }",
        "{ id: failed, copy: \"s3:b\", to: \"s3:a\", if_exists: fail }",
        "{ id: new, copy: \"s3:a\", to: \"s3:c\", if_exists: fail }",
        "{ id: replaced, copy: \"s3:a\", to: \"s3:d\", content_type: text/html }",
      ]))
    #expect(run.state("kept") == "skipped exists" && run.state("failed") == "failed DESTINATION_EXISTS")
    #expect(run["new"]["copied_by"].string == "service" && run.state("new") == "completed")
    #expect(ends.published("d") == [sum])
    let replaced = ends.s3.log().filter { $0.op == "copy" && $0.key == "d" }
    #expect(replaced.first?.header("x-amz-metadata-directive") == "REPLACE")
    #expect(ends.published("b").count == 1, "nothing was replaced")
  }

  @Test func ontoItself() async throws {
    let ends = try await Ends()
    for to in ["s3:a", "again:a"] {
      try ends.bench.writeJob(ends.job(["{ id: one, copy: \"s3:a\", to: \"\(to)\" }"]))
      let run = try await ends.bench.haul(["check", "job.yaml"], environment: StrictS3.environment)
      #expect(
        run.status == 65 && run.errors.contains("the source and the destination are one"), "\(run.errors)")
    }
  }

  /// A killed copy goes on with the parts that the service has.
  @Test func kills() async throws {
    try await RemoteKills.torture("service copy", cost: 4 * Self.part) { seed in
      let ends = try await Ends()
      let (s3, size) = (ends.s3, 12 * Self.part + 77)
      let sum = try await ends.upload("a", size: size, seed: seed)
      let slow = ["\"page\": 5", "\"pause\": 0.3"]
      try s3.set(slow)
      try ends.bench.writeJob(
        ends.job(["{ id: one, copy: \"s3:a\", to: \"s3:b\", chunk_size: 5MiB }"]))
      let taken = { s3.log().filter { $0.op == "copypart" && $0.status == 200 } }
      return RemoteKills.Round(
        bench: ends.bench, environment: Self.environment, span: 1500,
        isBegun: { !taken().isEmpty }, isOver: { Set(taken().compactMap(\.part)).count == 13 },
        prepareLast: { try s3.set(["\"page\": 5"]) },
        settle: { run throws -> Int64 in
          let log = s3.log()
          #expect(Set(log.filter { $0.key == "b" }.compactMap(\.published)) == [sum])
          #expect(run["one"]["copied_by"].string == "service" && run.transferred == 0)
          #expect(Set(taken().map(\.upload)).count == 1)
          return Int64((taken().count - 13) * Self.part)
        })
    }
  }
}
