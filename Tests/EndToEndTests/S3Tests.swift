import Foundation
import TestSupport
import Testing

/// S3 against moto: what boto3 reads back is what was sent, and the other way round.
@Suite(.turns)
struct S3Tests {
  private static let part = 5 << 20

  /// Sizes around everything that decides something.
  private static let sizes = [
    "empty": 0, "one": 1, "below": part - 1, "part": part, "above": part + 1, "parts": 3 * part + 1,
  ]

  private func job(_ moto: Moto, _ transfers: [String], _ more: String = "multipart_threshold: 5MiB")
    -> String
  {
    """
    version: 1
    job: s3
    endpoints: { moto: \(moto.endpoint(more)) }
    defaults: { chunk_size: 5MiB }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  @Test(arguments: ["crc64nvme", "sha256", "none"])
  func everySizeThereAndBack(_ checksum: String) async throws {
    let bench = try Bench()
    let moto = try await Moto(bench)
    for (number, (name, size)) in Self.sizes.sorted(by: { $0.value < $1.value }).enumerated() {
      try bench.source("up/\(name).bin", size: size, seed: UInt64(number + 1))
    }
    let names = Self.sizes.keys.sorted()
    let ups = names.map { "{ id: up-\($0), upload: up/\($0).bin, to: \"moto:in/ä b+/\($0).bin\" }" }
    let downs = names.map {
      "{ id: down-\($0), download: \"moto:in/ä b+/\($0).bin\", to: down/\($0).bin, needs: [up-\($0)] }"
    }
    let yaml = job(moto, ups + downs, "multipart_threshold: 5MiB, checksum: \(checksum)")
    let run = try await bench.run(yaml, environment: Moto.environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    let sums = try await moto.sums()
    for name in names {
      let mine = try Sums.file(bench.job + "/up/\(name).bin")
      #expect(sums["in/ä b+/\(name).bin"] == mine, "\(name)")
      #expect(try Sums.file(bench.job + "/down/\(name).bin") == mine, "\(name)")
      #expect(run["up-\(name)"]["remote_id"].string == "bkt/in/ä b+/\(name).bin")
      #expect(run["down-\(name)"]["protocol"].string == "s3")
    }
    // Nothing is moved again.
    let again = try await bench.run(nil, environment: Moto.environment)
    #expect(again.status == 0, "\(again.errors)")
    #expect(again.transferred == 0)
    #expect(again.totals["up_to_date"].int == Int64(names.count * 2))
  }

  @Test func twoHundredMebibytesThereAndBack() async throws {
    let bench = try Bench()
    let moto = try await Moto(bench)
    try bench.source("big.bin", size: 200 << 20, seed: 3)
    let run = try await bench.run(
      """
      version: 1
      job: big
      endpoints: { moto: \(moto.endpoint()) }
      transfers:
        - { id: up, upload: big.bin, to: "moto:big.bin" }
        - { id: down, download: "moto:big.bin", to: back.bin, needs: [up] }
      """, environment: Moto.environment, limit: .seconds(240))
    #expect(run.status == 0, "\(run.errors)")
    let mine = try Sums.file(bench.job + "/big.bin")
    #expect(try Sums.file(bench.job + "/back.bin") == mine)
    #expect(try await moto.sums()["big.bin"] == mine)
    #expect(run["up"]["chunks"]["total"].int == 25)
    // moto computes no checksum: the ETags of the answers to the parts prove them.
    #expect(run["up"]["verification"].array.contains { $0["check"].string == "md5-of-parts" })
  }

  @Test func objectsCarryWhatTheEndpointSays() async throws {
    let bench = try Bench()
    let moto = try await Moto(bench)
    try bench.source("a.txt", size: 10)
    try bench.source("b.txt", size: Self.part + 10)
    let run = try await bench.run(
      job(
        moto, ["{ id: a, upload: a.txt, to: \"moto:a\" }", "{ id: b, upload: b.txt, to: \"moto:b\" }"],
        """
        multipart_threshold: 5MiB, storage_class: STANDARD_IA, cache_control: "max-age=5", acl: public-read,
            server_side_encryption: AES256, tags: { team: "m + e", "k/1": v }, metadata: { Owner: anna, shift: "3" }
        """), environment: Moto.environment)
    #expect(run.status == 0, "\(run.errors)")
    for key in ["a", "b"] {
      let text = try await moto.boto(
        """
        head = s3.head_object(Bucket='bkt', Key='\(key)')
        grants = s3.get_object_acl(Bucket='bkt', Key='\(key)')['Grants']
        tags = s3.get_object_tagging(Bucket='bkt', Key='\(key)')['TagSet']
        print(json.dumps([head.get('StorageClass'), head.get('CacheControl'), head['ContentType'], head['Metadata'],
            head.get('ServerSideEncryption'), {t['Key']: t['Value'] for t in tags},
            [g['Permission'] for g in grants if g['Grantee'].get('URI', '').endswith('/AllUsers')]]))
        """)
      let facts = try JSON.parse(text)
      #expect(facts[0].string == "STANDARD_IA" && facts[1].string == "max-age=5", "\(key): \(text)")
      #expect(facts[2].string == "text/plain", "\(key): \(text)")
      #expect(facts[3]["owner"].string == "anna" && facts[3]["shift"].string == "3", "\(key): \(text)")
      #expect(facts[4].string == "AES256", "\(key): \(text)")
      #expect(facts[6].array.map(\.string) == ["READ"], "\(key): \(text)")
      #expect(facts[5]["team"].string == "m + e" && facts[5]["k/1"].string == "v", "\(key): \(text)")
    }
  }

  @Test func treeOfTwoThousand() async throws {
    let bench = try Bench()
    let moto = try await Moto(bench)
    for number in 0..<2000 {
      try bench.source(
        "tree/\(number % 40)/f \(number)+ü.dat", size: number * 7 % 900, seed: UInt64(number + 1))
    }
    let yaml = job(
      moto,
      [
        "{ id: up, upload: \"tree/**\", to: \"moto:2026/\" }"
      ])
    let up = try await bench.run(yaml, environment: Moto.environment, limit: .seconds(400))
    #expect(up.status == 0, "\(up.errors.suffix(2000))")
    let mine = try Sums.tree(bench.job + "/tree")
    let theirs = try await moto.sums("2026/")
    #expect(theirs.count == 2000)
    #expect(
      mine.allSatisfy {
        theirs["2026/" + ($0.key.hasPrefix("./") ? String($0.key.dropFirst(2)) : $0.key)] == $0.value
      })
    let sent = moto.visits.count
    let again = try await bench.run(nil, environment: Moto.environment, limit: .seconds(400))
    #expect(again.transferred == 0 && again.totals["up_to_date"].int == 2000)
    // By moto's log too: the keys are listed, and nothing is sent.
    #expect(moto.visits.dropFirst(sent).allSatisfy { $0.contains("\"GET /bkt?") })
    #expect(again.totals["requests"].int ?? .max <= 20, "a hundredth of a request a file")

    let down = """
      version: 1
      job: s3-down
      endpoints: { moto: \(moto.endpoint()) }
      transfers:
        - { id: down, download: "moto:2026/", to: back/ }
      """
    let there = try await bench.run(down, environment: Moto.environment, limit: .seconds(400))
    #expect(there.status == 0, "\(there.errors.suffix(2000))")
    #expect(there.totals["completed"].int == 2000)
    let back = try Sums.tree(bench.job + "/back")
    #expect(back == mine)
    let read = moto.visits.count
    let still = try await bench.run(nil, environment: Moto.environment, limit: .seconds(400))
    #expect(still.transferred == 0 && still.totals["up_to_date"].int == 2000, "\(still.errors.suffix(500))")
    #expect(moto.visits.dropFirst(read).allSatisfy { $0.contains("\"GET /bkt?") })
    #expect(still.totals["requests"].int ?? .max <= 20, "a hundredth of a request a file")
  }

  @Test func anObjectOfAnotherIsKeptReplacedOrRefused() async throws {
    let bench = try Bench()
    let moto = try await Moto(bench)
    _ = try await moto.boto("for k in 'abcd': s3.put_object(Bucket='bkt', Key=k, Body=b'theirs')")
    try bench.source("x.txt", size: 100)
    try bench.source("big.bin", size: Self.part + 1)
    let run = try await bench.run(
      job(
        moto,
        [
          "{ id: keep, upload: x.txt, to: \"moto:a\", if_exists: keep }",
          "{ id: fail, upload: x.txt, to: \"moto:b\", if_exists: fail }",
          "{ id: replace, upload: x.txt, to: \"moto:c\" }",
          "{ id: big, upload: big.bin, to: \"moto:d\", if_exists: fail }",
          "{ id: new, upload: big.bin, to: \"moto:e\", if_exists: fail }",
        ]), environment: Moto.environment)
    #expect(run.state("keep") == "skipped exists")
    #expect(run.state("fail") == "failed DESTINATION_EXISTS")
    #expect(run.state("replace") == "completed")
    #expect(run.state("big") == "failed DESTINATION_EXISTS")
    #expect(run.state("new") == "completed")
    let sums = try await moto.sums()
    #expect(sums["a"] == sums["b"] && sums["a"] == sums["d"] && sums["c"] != sums["a"])
  }

  @Test func readsBack() async throws {
    let bench = try Bench()
    let moto = try await Moto(bench)
    try bench.source("x.bin", size: Self.part * 2)
    let run = try await bench.run(
      job(moto, ["{ id: x, upload: x.bin, to: \"moto:x\", verify: readback }"]), environment: Moto.environment
    )
    #expect(run.status == 0, "\(run.errors)")
    #expect(
      run["x"]["verification"].array.contains {
        $0["check"].string == "readback" && $0["result"].string == "match"
      })
  }
}
