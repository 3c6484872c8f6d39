import Foundation
import TestSupport
import Testing

/// `haul verify`: what is there now, compared with what is on record.
@Suite(.turns)
struct VerifyTests {
  private static let names = ["same", "flipped", "cut", "gone", "sub/link"]

  /// A bench with a finished job: downloads of every name, one without a digest, and two uploads.
  private func bench() async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try FileManager.default.createDirectory(
      atPath: bench.served + "/sub", withIntermediateDirectories: true)
    for (seed, name) in (Self.names + ["sized"]).enumerated() {
      try bench.serve(name + ".bin", size: 100_000, seed: UInt64(seed + 1))
    }
    for name in ["one", "two"] { try bench.source(name + ".bin", size: 60_000, seed: 20) }
    let downs = Self.names.map { "  - { id: \($0), download: \"depot:\($0).bin\", to: \($0).bin }" }
    let run = try await bench.run(
      """
      version: 1
      job: kept
      endpoints: { depot: \(depot.endpoint) }
      transfers:
      \(downs.joined(separator: "\n"))
        - { id: sized, download: "depot:sized.bin", to: sized.bin, verify: size }
        - { id: up/one, upload: one.bin, to: "depot:in/one.bin" }
        - { id: up/two, upload: two.bin, to: "depot:in/two.bin" }
      """)
    #expect(run.status == 0, "\(run.errors)")
    return (bench, depot)
  }

  private func json(_ bench: Bench, _ options: [String] = [], status: Int32) async throws -> JSON {
    let end = try await bench.haul(["verify", "kept", "--json"] + options)
    #expect(end.status == status, "\(end.errors)")
    let file = try bench.scratch.write("verify.json", end.output)
    #expect(try await Schema.faults(of: file, name: "verify") == "")
    return try JSON.parse(end.output)
  }

  private func different(_ found: JSON) -> [String: String] {
    let differing = found["findings"].array.filter { $0["result"].string == "different" }
    return Dictionary(
      differing.map { ($0["id"].string ?? "", $0["check"].string ?? "") }, uniquingKeysWith: { $1 })
  }

  /// Of all files but the plan, which SQLite tidies whenever it is closed; `plan.commits` counts what is written to it.
  private func sums(_ folder: String) throws -> String {
    try Sums.shell("find . -type f ! -name 'plan.sqlite*' | sort | xargs sha256sum", in: folder)
  }

  @Test func goodIsVerified() async throws {
    let (bench, depot) = try await bench()
    let before = try sums(bench.state)
    let text = try await bench.haul(["verify", "job.yaml"])
    #expect(text.status == 0 && text.errors.isEmpty, "\(text.errors)")
    #expect(text.output.contains("kept: 7 verified, 0 different, 1 unverifiable"), "\(text.output)")
    let quiet = try await bench.haul(["verify", "kept", "--quiet"])
    #expect(quiet.status == 0 && quiet.output.isEmpty && quiet.errors.isEmpty, "\(quiet.output)")
    let found = try await json(bench, status: 0)
    #expect(found["totals"]["bytes_read"].int == 500_000 && found["complete"].bool == true)
    #expect(found["findings"].array.map { $0["id"].string } == ["sized"])
    #expect(found["findings"][0]["reason"].string == "no_digest")
    // Uploads are read as well where that is asked for.
    let moved = try await depot.log().filter { $0.line["method"].string == "GET" }.count
    let read = try await json(bench, ["--read", "--id", "up/*"], status: 0)
    #expect(read["totals"]["verified"].int == 2 && read["totals"]["bytes_read"].int == 120_000)
    #expect(try await depot.log().filter { $0.line["method"].string == "GET" }.count > moved)
    // Nothing of the job has changed.
    let after = try sums(bench.state)
    #expect(before == after)
  }

  @Test func everyDifferenceIsNamed() async throws {
    let (bench, _) = try await bench()
    _ = try Sums.shell(
      """
      touch -r flipped.bin stamp
      printf 'x' | dd of=flipped.bin bs=1 seek=70000 conv=notrunc 2>&1
      touch -r stamp flipped.bin
      truncate -s 99999 cut.bin
      rm gone.bin
      mv sub/link.bin elsewhere; ln -s ../elsewhere sub/link.bin
      touch sized.bin
      """, in: bench.job)
    _ = try Sums.shell("rm in/one.bin; head -c 60000 /dev/zero > in/two.bin", in: bench.served)
    let text = try await bench.haul(["verify", "kept"])
    #expect(text.status == 1 && text.errors.isEmpty, "\(text.errors)")
    let lines = text.output.split(separator: "\n").map(String.init)
    for (id, place, what) in [
      ("flipped", "flipped.bin", "sha256 is "), ("cut", "cut.bin", "size is 99999, on record is 100000"),
      ("gone", "gone.bin", "missing"), ("sub/link", "sub/link.bin", "type"), ("sized", "sized.bin", "mtime"),
      ("up/one", "depot:in/one.bin", "missing"), ("up/two", "depot:in/two.bin", "sha256"),
    ] {
      #expect(
        lines.contains { $0.hasPrefix("different: \(id): \(place): \(what)") }, "\(id): \(text.output)")
    }
    #expect(lines.last?.hasPrefix("kept: 1 verified, 7 different, 0 unverifiable") == true, "\(lines)")
    let quiet = try await bench.haul(["verify", "kept", "--quiet"])
    #expect(quiet.status == 1 && quiet.output == text.output && quiet.errors.isEmpty)
    // An object that its id still gives is gone all the same where its name is.
    let found = try await json(bench, ["--read"], status: 1)
    #expect(
      different(found) == [
        "flipped": "sha256", "cut": "size", "gone": "missing", "sub/link": "type", "sized": "mtime",
        "up/one": "missing", "up/two": "sha256",
      ])
    #expect(try await json(bench, ["--id", "same"], status: 0)["totals"]["compared"].int == 1)
    // Eight were completed: a quarter of them is two.
    let sample = try await bench.haul(["verify", "kept", "--sample", "25%", "--json"])
    #expect(try JSON.parse(sample.output)["totals"]["compared"].int == 2, "\(sample.errors)")
  }

  @Test func runsAreToldApart() async throws {
    let (bench, _) = try await bench()
    try FileManager.default.removeItem(atPath: bench.job + "/gone.bin")
    #expect(try await bench.run().status == 0)
    #expect(try await json(bench, ["--run", "2"], status: 0)["totals"]["compared"].int == 1)
    #expect(try await json(bench, ["--run", "1"], status: 0)["totals"]["compared"].int == 7)
  }

  @Test func wrongQuestions() async throws {
    let (bench, _) = try await bench()
    for (options, status) in [
      (["kept", "--id", "nobody"], 66), (["kept", "--run", "9"], 66), (["nobody"], 66),
      (["kept", "--sample", "0%"], 64), (["kept", "--sample", "7"], 64), (["kept", "--rate", "quick"], 64),
      (["kept", "--id", "[z-a"], 64),
    ] as [([String], Int32)] {
      let end = try await bench.haul(["verify"] + options)
      #expect(end.status == status && end.output.isEmpty && !end.errors.isEmpty, "\(options): \(end.errors)")
    }
  }

  @Test func whatNobodyTellsIsUnverifiable() async throws {
    let (bench, depot) = try await bench()
    // Another store under the endpoint's name says nothing of what the first was given.
    let yaml = try String(contentsOfFile: bench.job + "/job.yaml", encoding: .utf8)
    try bench.writeJob(yaml.replacing(depot.url, with: depot.url.replacing("127.0.0.1", with: "localhost")))
    let other = try await json(bench, ["--id", "up/**"], status: 0)
    #expect(other["totals"]["reasons"]["endpoint_changed"].int == 2)
    try bench.writeJob(
      yaml.replacing("transfers:", with: "defaults: { policy: { retry: { attempts: 1 } } }\ntransfers:"))
    await depot.process.end()
    let down = try await json(bench, ["--id", "up/**"], status: 75)
    #expect(down["totals"]["verified"].int == 0 && down["totals"]["retryable"].int == 2)
    #expect(down["totals"]["reasons"]["NETWORK_UNREACHABLE"].int == 2, "\(down)")
  }

  /// Trying again would not help: a secret that is not there is an input that is missing.
  @Test func aSecretThatIsNotThere() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("down.bin", size: 1000)
    try bench.source("up.bin", size: 1000)
    let endpoint = depot.endpoint.replacing(" }", with: ", auth: { bearer: { env: TOKEN } } }")
    try #require(endpoint != depot.endpoint)
    let run = try await bench.run(
      """
      version: 1
      job: kept
      endpoints: { depot: \(endpoint) }
      transfers:
        - { id: down, download: "depot:down.bin", to: down.bin }
        - { id: up, upload: up.bin, to: "depot:in/up.bin" }
      """, environment: ["TOKEN": "some-token"])
    #expect(run.status == 0, "\(run.errors)")
    let end = try await bench.haul(["verify", "kept"])
    #expect(end.status == 66 && end.output.isEmpty && end.errors.contains("`TOKEN`"), "\(end.errors)")
    #expect(end.errors.contains("1 secret is not there"), "\(end.errors)")
    // What lies here needs none.
    #expect(try await bench.haul(["verify", "kept", "--id", "down"]).status == 0)
    #expect(try await bench.haul(["verify", "kept"], environment: ["TOKEN": "some-token"]).status == 0)
  }

  @Test func goesOnAfterASignal() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let rows = (0..<8).map { "  - { id: f\($0), download: \"depot:f\($0).bin\", to: f\($0).bin }" }
    for number in 0..<8 { try bench.serve("f\(number).bin", size: 500_000, seed: UInt64(number)) }
    let run = try await bench.run(
      """
      version: 1
      job: kept
      endpoints: { depot: \(depot.endpoint) }
      transfers:
      \(rows.joined(separator: "\n"))
      """)
    #expect(run.status == 0, "\(run.errors)")
    _ = try Sums.shell(
      "for f in f0 f7; do printf x | dd of=$f.bin bs=1 seek=9 conv=notrunc 2>&1; done", in: bench.job)
    let running = try bench.start(["verify", "kept", "--rate", "400KB/s"])
    while !running.output.contains("different: f0") {
      try #require(running.isAlive)
      try await Task.sleep(for: .milliseconds(20))
    }
    // One question has one answer at a time.
    let second = try await bench.haul(["verify", "kept"])
    #expect(second.status == 76, "\(second.errors)")
    running.signal(SIGINT)
    let stopped = try await running.wait()
    #expect(stopped.status == 75 && stopped.errors.contains("stopped by SIGINT"), "\(stopped.errors)")
    #expect(stopped.output.contains("1 different") && !stopped.output.contains("f7"), "\(stopped.output)")
    let found = try await json(bench, status: 1)
    #expect(different(found) == ["f0": "sha256", "f7": "sha256"])
    #expect(found["totals"]["compared"].int == 8 && found["totals"]["bytes_read"].int == 4_000_000)
    #expect(!FileManager.default.fileExists(atPath: bench.state + "/kept/verify.jsonl"))
  }

  /// A file that takes longer than a stop comes is not read from its start again, unless it has changed.
  @Test(arguments: [SIGTERM, SIGKILL])
  func goesOnInsideAFile(_ signal: Int32) async throws {
    let bench = try Bench()
    let server = try await PythonServer(bench)
    let size = 40_000_000
    try bench.serve("a.bin", size: size)
    let run = try await bench.run(
      """
      version: 1
      job: kept
      transfers: [ { id: a, download: "\(server.url)/a.bin", to: a.bin } ]
      """)
    #expect(run.status == 0, "\(run.errors)")
    let journal = bench.state + "/kept/verify.jsonl"
    func place() -> JSON? { JSON.lines(journal).last { !$0["reads"].array.isEmpty }?["reads"][0] }
    func stop() async throws -> Finished {
      let running = try bench.start(["verify", "kept", "--rate", "4MB/s"])
      while signal == SIGKILL ? place() == nil : running.isAlive && place() == nil {
        try #require(running.isAlive)
        try await Task.sleep(for: .milliseconds(50))
      }
      running.signal(signal)
      return try await running.wait()
    }
    let stopped = try await stop()
    if signal == SIGTERM { #expect(stopped.status == 75, "\(stopped.errors)") }
    let read = try #require(place()?["read"].int)
    #expect(read > 0 && read < size, "\(read)")
    // What is on record decides, not what lies before it: another state comes to another digest.
    let lines = try String(contentsOfFile: journal, encoding: .utf8)
    let word = try #require(place()?["sha256"][0].int)
    let forged = lines.replacing("\"sha256\":[\(word),", with: "\"sha256\":[\(word ^ 1),")
    try #require(forged != lines)
    try Data(forged.utf8).write(to: URL(fileURLWithPath: journal))
    #expect(different(try await json(bench, status: 1)) == ["a": "sha256"])
    try Data(lines.utf8).write(to: URL(fileURLWithPath: journal))
    let rest = try await bench.haul(["verify", "kept"])
    #expect(rest.status == 0 && rest.errors.contains("inside of 1 file"), "\(rest.errors)")
    #expect(rest.output.contains("1 verified") && rest.output.contains("38.1 MiB read"), "\(rest.output)")
    // A file that was written to since is read from its start.
    try Data(forged.utf8).write(to: URL(fileURLWithPath: journal))
    _ = try Sums.shell("printf '' >> a.bin; touch a.bin", in: bench.job)
    #expect(try await json(bench, status: 0)["totals"]["verified"].int == 1)
  }

  /// The job's own limit holds for what is read back, whatever `--rate` allows.
  @Test func theJobsLimitHolds() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.source("up.bin", size: 2_000_000)
    let yaml = """
      version: 1
      job: kept
      endpoints: { depot: \(depot.endpoint) }
      transfers: [ { id: up, upload: up.bin, to: "depot:in/up.bin" } ]

      """
    #expect(try await bench.run(yaml).status == 0)
    try bench.writeJob(yaml + "limits: { bandwidth: 1MB/s }\n")
    let found = try await json(bench, ["--read", "--rate", "100MB/s"], status: 0)
    #expect(found["totals"]["bytes_read"].int == 2_000_000)
    // By the server's clock.
    let read = try #require(try await depot.log().last { $0.isDownload && $0.sent == 2_000_000 })
    #expect(read.line["ms"].double ?? 0 > 1000, "\(read.line)")
  }

  @Test func objectsOfAStore() async throws {
    let bench = try Bench()
    let moto = try await Moto(bench)
    for name in ["same", "other", "gone"] { try bench.source(name + ".bin", size: 50_000, seed: 3) }
    let rows = ["same", "other", "gone"].map { "  - { id: \($0), upload: \($0).bin, to: \"moto:\($0)\" }" }
    let run = try await bench.run(
      """
      version: 1
      job: kept
      endpoints: { moto: \(moto.endpoint()) }
      transfers:
      \(rows.joined(separator: "\n"))
      """, environment: Moto.environment)
    #expect(run.status == 0, "\(run.errors)")
    let good = try await bench.haul(["verify", "kept"], environment: Moto.environment)
    #expect(good.status == 0 && good.output.contains("3 verified"), "\(good.output)\(good.errors)")
    _ = try await moto.boto(
      "s3.put_object(Bucket='bkt', Key='other', Body=b'x' * 50000); s3.delete_object(Bucket='bkt', Key='gone')"
    )
    for options in [[], ["--read"]] {
      let bad = try await bench.haul(["verify", "kept", "--json"] + options, environment: Moto.environment)
      #expect(bad.status == 1, "\(bad.errors)")
      let found = different(try JSON.parse(bad.output))
      #expect(found.keys.sorted() == ["gone", "other"] && found["gone"] == "missing", "\(found)")
    }
  }
}
