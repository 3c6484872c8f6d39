import Foundation
import TestSupport
import Testing

/// Copies from one remote to another: the bytes pass through haul, and none stays on this machine.
@Suite(.turns)
struct CopyTests {
  private static let part = 5 << 20
  private static let size = 4 * part + 77

  private struct Ends {
    let bench: Bench
    let depot: Depot
    let web: Nginx
    let s3: StrictS3

    init(faults: [String] = [], config: [String] = []) async throws {
      bench = try Bench()
      depot = try await Depot(bench, faults: faults)
      web = try await Nginx(bench)
      s3 = try await StrictS3(bench, config: config)
    }

    func job(_ transfers: [String], chunk: String = "5MiB", s3 more: String = "multipart_threshold: 5MiB")
      -> String
    {
      """
      version: 1
      job: copies
      policies: { p: { retry: { attempts: 3, initial: 10ms, max: 50ms } } }
      endpoints:
        depot: \(depot.endpoint)
        web: { type: http, url: \(quoted(web.url)) }
        s3: \(s3.endpoint(more))
      defaults: { chunk_size: \(chunk), policy: p }
      transfers:
      \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
      """
    }

    func run(_ yaml: String?, _ options: [String] = []) async throws -> HaulRun {
      try await bench.run(yaml, options, environment: StrictS3.environment)
    }
  }

  private func has(_ transfer: JSON, _ check: String, _ against: String = "server") -> Bool {
    transfer["verification"].array.contains {
      $0["check"].string == check && $0["against"].string == against && $0["result"].string == "match"
    }
  }

  /// http → S3 → session → http → S3, and the second run moves nothing.
  @Test func everyKindIntoEveryOther() async throws {
    let ends = try await Ends()
    let (bench, s3) = (ends.bench, ends.s3)
    try bench.serve("a.bin", size: Self.size)
    try bench.serve("small.bin", size: 1234, seed: 2)
    let sum = try #require(try Sums.file(bench.served + "/a.bin"))
    let yaml = ends.job([
      "{ id: in, copy: \"web:a.bin\", to: \"s3:in/a.bin\", expect: { sha256: \(sum), size: \(Self.size) } }",
      "{ id: small, copy: \"web:small.bin\", to: \"s3:in/small.bin\" }",
      "{ id: between, copy: \"s3:in/a.bin\", to: \"s3:out/a.bin\", needs: [in], verify: required }",
      "{ id: session, copy: \"s3:in/a.bin\", to: \"depot:b.bin\", needs: [in], verify: required }",
      "{ id: whole, copy: \"s3:out/a.bin\", to: \"web:put/a.bin\", needs: [between], verify: readback }",
      "{ id: url, copy: \(quoted(ends.web.url + "/small.bin")), to: \"depot:c.bin\" }",
    ])
    let run = try await ends.run(yaml)
    #expect(run.status == 0 && run.faults == "", "\(run.errors) \(run.faults)")
    for id in ["in", "small", "between", "session", "whole", "url"] {
      #expect(run.state(id) == "completed", "\(id)")
      let mover = id == "between" ? "service" : "relay"
      #expect(run[id]["direction"].string == "copy" && run[id]["copied_by"].string == mover, "\(id)")
    }
    #expect(Set(s3.log().filter { $0.key.hasSuffix("a.bin") }.compactMap(\.published)) == [sum])
    #expect(try bench.isSame("../served/put/a.bin", "a.bin"))
    #expect(run["in"]["digests"]["sha256"].string == sum && has(run["in"], "sha256", "manifest"))
    #expect(has(run["in"], "crc64nvme") && has(run["between"], "crc64nvme") && has(run["session"], "sha256"))
    #expect(has(run["whole"], "readback"))
    #expect(run["in"]["bytes"]["transferred"].int == Int64(Self.size), "each byte counts once")
    #expect(run["in"]["source_facts"]["etag"].string != nil)
    #expect(run["in"]["chunks"]["completed"].int == 5)
    // Nothing lies here that was on its way.
    let here = FileManager.default.enumerator(atPath: bench.job)?.compactMap { $0 as? String } ?? []
    #expect(here == ["job.yaml"])
    let again = try await ends.run(nil)
    #expect(again.status == 0 && again.transferred == 0, "\(again.errors)")
    #expect(again.totals["up_to_date"].int == 6, "\(again.report["transfers"])")
  }

  /// A source without ranges, or of which no version is told, is one stream, into parts as into one PUT; under one
  /// connection in all it does not wait for itself.
  @Test func oneStream() async throws {
    let ends = try await Ends(faults: [
      "{\"match\": {\"method\": \"GET\"}, \"action\": {\"ignoreRange\": true}}"
    ])
    try ends.bench.serve("a.bin", size: Self.size)
    let sum = try #require(try Sums.file(ends.bench.served + "/a.bin"))
    let one = "policy: { connections: { total: 1, per_host: 1 } }"
    let source = quoted(ends.depot.url + "/files/a.bin")
    let run = try await ends.run(
      ends.job([
        "{ id: parts, copy: \(source), to: \"s3:a.bin\", \(one) }",
        "{ id: put, copy: \(source), to: \"web:put/a.bin\", \(one) }",
      ]))
    #expect(run.status == 0 && run.faults == "", "\(run.errors) \(run.faults)")
    #expect(ends.s3.log().compactMap(\.published) == [sum])
    #expect(try ends.bench.isSame("../served/put/a.bin", "a.bin"))
  }

  @Test func oneConnectionInAll() async throws {
    let ends = try await Ends()
    for index in 0..<4 { try ends.bench.serve("in/\(index).bin", size: Self.size, seed: UInt64(index)) }
    let copies = (0..<4).map { index in
      "{ id: c\(index), copy: \"web:in/\(index).bin\", to: \"s3:out/\(index).bin\", policy: { connections: { total: 1, per_host: 1 } } }"
    }
    let run = try await ends.run(ends.job(copies))
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.totals["completed"].int == 4)
  }

  @Test func whatTheManifestDoesNotExpect() async throws {
    let ends = try await Ends()
    try ends.bench.serve("a.bin", size: 1000)
    let wrong = String(repeating: "0", count: 64)
    let run = try await ends.run(
      ends.job([
        "{ id: one, copy: \"web:a.bin\", to: \"s3:a.bin\", expect: { sha256: \(quoted(wrong)) } }",
        "{ id: two, copy: \"web:a.bin\", to: \"s3:b.bin\", expect: { size: 1001 } }",
        "{ id: gone, copy: \"web:none.bin\", to: \"s3:c.bin\" }",
      ]))
    #expect(run.status == 1)
    #expect(run.state("one") == "failed INTEGRITY_MISMATCH")
    // It was read, and not sent on.
    for bytes in [run["one"]["bytes"], run.totals["bytes"]] {
      #expect(bytes["transferred"].int == 1000 && bytes["discarded"].int == 1000)
    }
    #expect(run.state("two") == "failed LENGTH_MISMATCH")
    #expect(run.state("gone") == "failed NOT_FOUND")
    #expect(ends.s3.log().compactMap(\.published) == [])
  }

  @Test func whatStandsThere() async throws {
    let ends = try await Ends()
    try ends.bench.serve("a.bin", size: 1000)
    try ends.bench.serve("b.bin", size: 2000, seed: 2)
    let first = try await ends.run(ends.job(["{ id: a, copy: \"web:a.bin\", to: \"s3:x.bin\" }"]))
    #expect(first.status == 0, "\(first.errors)")
    let run = try await ends.run(
      ends.job([
        "{ id: kept, copy: \"web:b.bin\", to: \"s3:x.bin\", if_exists: keep }",
        "{ id: other, copy: \"web:a.bin\", to: \"s3:y.bin\", if_exists: fail }",
      ]).replacing("job: copies", with: "job: others"))
    #expect(run.state("kept") == "skipped exists" && run.state("other") == "completed", "\(run.errors)")
  }

  @Test func aPrefixAndItsChanges() async throws {
    let ends = try await Ends()
    let (bench, s3) = (ends.bench, ends.s3)
    for name in ["a", "b/c", "ä b"] { try bench.source("up/" + name, size: 100 + name.utf8.count) }
    let up = "{ id: up, upload: \"up/**\", to: \"s3:in/\" }"
    let copy = "{ id: all, copy: \"s3:in/\", to: \"depot:out/\" }"
    #expect(try await ends.run(ends.job([up]).replacing("job: copies", with: "job: up")).status == 0)
    let run = try await ends.run(ends.job([copy]))
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(Set(run.transfers.compactMap { $0["id"].string }) == ["all/a", "all/b/c", "all/%C3%A4%20b"])
    let again = try await ends.run(nil)
    #expect(again.totals["up_to_date"].int == 3 && again.transferred == 0, "\(again.errors)")
    try bench.source("up/a", size: 200, seed: 9)
    #expect(try await ends.run(ends.job([up]).replacing("job: copies", with: "job: up")).status == 0)
    let changed = try await ends.run(ends.job([copy]))
    #expect(
      changed.totals["completed"].int == 1 && changed["all/a"]["moved_because"].string == "source_changed")
    #expect(s3.log().allSatisfy { $0.status < 500 })
  }

  /// What a killed run has brought over is not moved again, and no upload stays open. A copy whose completion was not
  /// recorded yet is made once more: nothing that is kept proves what the store holds then.
  @Test func kills() async throws {
    // Four parts in flight, each of which the budget of 16 MiB holds, from the source and to the sink.
    try await RemoteKills.torture("copy", cost: 8 * Self.part, resumes: false) { seed in
      let ends = try await Ends(config: ["\"rate\": 6000000"])
      let (bench, s3, size) = (ends.bench, ends.s3, 12 * Self.part + 77)
      try bench.serve("a.bin", size: size, seed: seed)
      let sum = try Sums.file(bench.served + "/a.bin")
      try bench.writeJob(ends.job(["{ id: one, copy: \"web:a.bin\", to: \"s3:b.bin\" }"]))
      let taken = { s3.log().filter { $0.op == "part" && $0.status == 200 } }
      let read = {
        ends.web.log().filter { $0["method"].string == "GET" }.reduce(Int64(0)) {
          $0 + ($1["bytes_out"].int ?? 0)
        }
      }
      return RemoteKills.Round(
        bench: bench, environment: StrictS3.environment, span: 2000,
        isBegun: { !taken().isEmpty }, isOver: { Set(taken().compactMap(\.part)).count == 13 },
        prepareLast: { try s3.set([]) },
        settle: { run throws -> Int64 in
          let log = s3.log()
          let published = log.compactMap(\.published)
          #expect(Set(published) == [sum])
          let opened = Set(log.filter { $0.op == "create" }.map(\.upload)).count
          let closed = log.filter { ["complete", "abort"].contains($0.op) && $0.status < 300 }.count
          #expect(opened == 0 || closed >= 1, "no upload stays open")
          let again = taken().reduce(Int64(0)) { $0 + $1.received } - Int64(size)
          return max(again, read() - Int64(size)) - Int64((published.count - 1) * size)
        })
    }
  }
}
