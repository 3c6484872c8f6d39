import Foundation
import TestSupport
import Testing

/// tus against tuspyserver, which nobody here wrote, and against a strict fake where that offers less.
@Suite(.turns)
struct TusTests {
  private static let chunk = 256 << 10
  private static let size = (4 << 20) + 7

  private func job(_ url: String, _ transfer: String, endpoint: String = "", policy: String = "") -> String {
    """
    version: 1
    job: tus
    endpoints: { tus: { type: tus, url: "\(url)/files"\(endpoint) } }
    policies: { p: { retry: { attempts: 4, initial: 20ms, max: 100ms }\(policy) } }
    defaults: { policy: p, chunk_size: 256KiB }
    transfers:
      - \(transfer)
    """
  }

  private static let up = #"{ id: one, upload: up.bin, to: "tus:up.bin" }"#

  /// One upload to a fake that errs as it is told.
  private func run(
    _ options: [String], transfer: String = up, policy: String = ""
  ) async throws -> (Bench, StrictFake, HaulRun) {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .tus, options: options)
    try bench.source("up.bin", size: Self.size, seed: 41)
    let run = try await bench.run(job(fake.url, transfer, policy: policy))
    #expect(run.faults == "")
    return (bench, fake, run)
  }

  private func expectWhole(_ bench: Bench, _ run: HaulRun, _ location: SourceLocation = #_sourceLocation)
    throws
  {
    #expect(run.status == 0, "\(run.errors)", sourceLocation: location)
    #expect(run.state("one") == "completed", sourceLocation: location)
    let id = run["one"]["remote_id"].string?.split(separator: "/").last.map(String.init) ?? "none"
    #expect(
      try Sums.file(bench.served + "/" + id) == Sums.file(bench.job + "/up.bin"), sourceLocation: location)
  }

  @Test(arguments: ["tuspyserver", "fake"]) func sizes(_ server: String) async throws {
    let bench = try Bench()
    let real = server == "fake" ? nil : try await TusServer(bench)
    let fake = server == "fake" ? try await StrictFake(bench, .tus) : nil
    let url = real?.url ?? fake?.url ?? ""
    var lines = ["{ id: none, upload: none.bin, to: \"tus:none.bin\" }"]
    try bench.source("none.bin", size: 0)
    for (name, size) in RemoteKills.sizes {
      try bench.source(name + ".bin", size: size, seed: UInt64(size))
      lines.append("{ id: \(name), upload: \(name).bin, to: \"tus:in/\(name).bin\", chunk_size: 1MiB }")
    }
    let text = job(url, lines.joined(separator: "\n  - "))
    let run = try await bench.run(text, limit: .seconds(240))
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    for name in ["none"] + RemoteKills.sizes.map(\.name) {
      let id = run[name]["remote_id"].string
      let path =
        real?.path(of: id) ?? bench.served + "/" + (id?.split(separator: "/").last.map(String.init) ?? "")
      #expect(try Sums.file(path) == Sums.file(bench.job + "/\(name).bin"), "\(name)")
      #expect(id?.hasPrefix(url + "/files/") == true)
      #expect(run[name]["protocol"].string == "tus")
    }
    // Each once, and nothing again in a new run.
    let total = Int64(RemoteKills.sizes.reduce(0) { $0 + $1.size })
    #expect((real?.taken() ?? fake?.taken("PATCH")) == total)
    let again = try await bench.run(nil, ["--new-run"])
    #expect(again.totals["up_to_date"].int == 6, "\(again.errors)")
    #expect((real?.taken() ?? fake?.taken("PATCH")) == total)
  }

  @Test func downloads() async throws {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .tus)
    let sizes = [("none", 0)] + RemoteKills.sizes
    for (name, size) in sizes { try bench.source(name + ".bin", size: size, seed: UInt64(size + 3)) }
    let ups = sizes.map { "{ id: \($0.0), upload: \($0.0).bin, to: \"tus:\($0.0).bin\" }" }
    let first = try await bench.run(
      job(fake.url, ups.joined(separator: "\n  - ")), limit: .seconds(240))
    #expect(first.status == 0, "\(first.errors)")
    let downs = sizes.map { name, _ in
      let id = first[name]["remote_id"].string?.split(separator: "/").last.map(String.init) ?? ""
      return "{ id: \(name), download: \"tus:\(id)\", to: back/\(name).bin, chunk_size: 1MiB }"
    }
    let named = first["one"]["remote_id"].string?.split(separator: "/").last.map(String.init) ?? ""
    let text = job(
      fake.url,
      (downs + ["{ id: named, download: \"tus:\(named)\", to: named/ }"]).joined(separator: "\n  - ")
    ).replacing("job: tus", with: "job: back")
    let run = try await bench.run(text, limit: .seconds(240))
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    for (name, _) in sizes {
      #expect(
        try Sums.file(bench.job + "/back/\(name).bin") == Sums.file(bench.job + "/\(name).bin"), "\(name)")
    }
    #expect(bench.exists("named/one.bin"), "the name is in the upload's metadata")
  }

  @Test(arguments: ["tuspyserver", "fake", "fake without checksums"]) func kills(_ server: String)
    async throws
  {
    // What it kept is never sent again.
    try await RemoteKills.torture("tus upload (\(server))", cost: 0) { seed in
      let bench = try Bench()
      let size = 8 << 20
      let real = server == "tuspyserver" ? try await TusServer(bench) : nil
      let options = server == "fake" ? [] : [#""extensions": ["creation", "termination"]"#]
      let fake = real == nil ? try await StrictFake(bench, .tus, options: options) : nil
      try bench.source("up.bin", size: size, seed: seed)
      try bench.writeJob(job(real?.url ?? fake?.url ?? "", Self.up, policy: ", bandwidth: 2MiB/s"))
      let log = { real?.log() ?? fake?.log() ?? [] }
      let taken = { real?.taken() ?? fake?.taken("PATCH") ?? 0 }
      return RemoteKills.Round(
        bench: bench, isBegun: { taken() > 0 }, isOver: { taken() == size },
        settle: { run throws -> Int64 in
          let id = run["one"]["remote_id"].string
          let path =
            real?.path(of: id)
            ?? bench.served + "/" + (id?.split(separator: "/").last.map(String.init) ?? "")
          #expect(try Sums.file(path) == Sums.file(bench.job + "/up.bin"))
          #expect(Set(log().filter { $0["method"].string == "PATCH" }.map { $0["path"].string }).count == 1)
          return taken() - Int64(size)
        })
    }
  }

  @Test(arguments: ["tus download"]) func kills(ofA direction: String) async throws {
    try await RemoteKills.torture(direction, cost: 8 * Self.chunk) { seed in
      let bench = try Bench()
      let size = 8 << 20
      let fake = try await StrictFake(bench, .tus, options: [#""rate": 1000000"#])
      let name = "0123456789abcdef"
      try bench.serve(name, size: size, seed: seed)
      try Data(#"{"size": \#(size), "offset": \#(size), "metadata": {}, "expires": null}"#.utf8)
        .write(to: URL(fileURLWithPath: bench.served + "/\(name).json"))
      try bench.writeJob(job(fake.url, #"{ id: one, download: "tus:\#(name)", to: down.bin }"#))
      return RemoteKills.Round(
        bench: bench, isBegun: { fake.taken("GET") > 0 }, isOver: { fake.taken("GET") >= size },
        settle: { _ throws -> Int64 in
          #expect(try bench.isSame("down.bin", name))
          return fake.taken("GET") - Int64(size)
        })
    }
  }

  /// Faults that pass: the file arrives in one upload, and nothing is kept twice.
  @Test(arguments: [
    #""lose": {"patch": [3, 7]}"#, #""lose": {"create": [1]}"#, #""fail": {"patch": [2], "head": [1]}"#,
    #""corrupt": [4, 5]"#, #""extensions": ["creation"], "cut": {"2": 1000, "3": 70000, "9": 0}"#,
    #""no_options": true"#, #""relative": true"#,
  ]) func passing(_ fault: String) async throws {
    let (bench, fake, run) = try await run([fault])
    try expectWhole(bench, run)
    #expect(fake.taken("PATCH") == Int64(Self.size))
    #expect(fake.count("POST", status: 201) == 1)
    #expect(fake.count("PATCH", status: 460) == (fault.contains("corrupt") ? 2 : 0))
    #expect(fake.count("PATCH", status: 409) == 0)
  }

  /// The upload is gone mid-way: a new one is made.
  @Test(arguments: [#""forget": [6]"#, #""expire": [6]"#]) func gone(_ fault: String) async throws {
    let (bench, fake, run) = try await run([fault])
    try expectWhole(bench, run)
    #expect(fake.count("POST", status: 201) == 2)
    #expect(run.remarks.contains("session"), "\(run.remarks)")
  }

  /// Another client writes into the upload: what it holds is not the file, and a new upload is made.
  @Test func anotherWrites() async throws {
    let (bench, fake, run) = try await run([#""extensions": ["creation", "termination"], "move": [6]"#])
    try expectWhole(bench, run)
    #expect(fake.count("PATCH", status: 409) == 1 && fake.count("POST", status: 201) == 2)
    #expect(run.remarks.contains("session"), "\(run.remarks)")
  }

  @Test func requiredProof() async throws {
    let strict = #"{ id: one, upload: up.bin, to: "tus:up.bin", verify: required }"#
    let (bench, _, proved) = try await run([], transfer: strict)
    try expectWhole(bench, proved)
    #expect(proved["one"]["verification"].array.contains { $0["check"].string == "sha1 of each chunk" })
    let (_, fake, refused) = try await run([#""extensions": ["creation"]"#], transfer: strict)
    #expect(refused.state("one") == "failed DIGEST_UNAVAILABLE")
    #expect(fake.count("PATCH") == 0, "nothing is sent that can't be proved")
    #expect(fake.count("POST") == 0, "nor is an upload left that can't be removed")
    let (other, _, back) = try await run(
      [#""extensions": ["creation"]"#],
      transfer: #"{ id: one, upload: up.bin, to: "tus:up.bin", verify: readback }"#)
    try expectWhole(other, back)
    #expect(back["one"]["verification"].array.contains { $0["check"].string == "readback" })
  }

  @Test func tooLarge() async throws {
    let (_, fake, run) = try await run([#""max_size": 1000"#])
    #expect(run.state("one") == "failed PROTOCOL_VIOLATION")
    #expect(run.errors.contains("1000 bytes") && fake.count("POST") == 0)
    let (_, silent, refused) = try await self.run([#""max_size": 1000, "no_options": true"#])
    #expect(refused.state("one") == "failed PROTOCOL_VIOLATION")
    #expect(refused.errors.contains("larger than the server takes") && silent.count("PATCH") == 0)
  }

  /// A canceled upload is terminated at the server.
  @Test func cancel() async throws {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .tus, options: [#""rate": 500000"#])
    try bench.source("up.bin", size: Self.size, seed: 41)
    try bench.writeJob(job(fake.url, Self.up))
    let running = try bench.start(bench.runArguments())
    try await RemoteKills.wait(while: { fake.count("PATCH", status: 204) == 0 })
    let end = try await bench.haul(["cancel", "tus", "one"])
    #expect(end.status == 0, "\(end.errors)")
    _ = try await running.wait()
    #expect(fake.count("DELETE", status: 204) == 1)
  }

  /// The token ends mid-transfer, in the file that holds it and at the server; it is read again, and kept nowhere.
  @Test func credentials() async throws {
    let bench = try Bench()
    let tokens = ["first-7oken-of-tus", "second-7oken-of-tus"]
    let file = try bench.scratch.write("token", tokens[0], mode: 0o600)
    let fake = try await StrictFake(
      bench, .tus, options: [#""token_file": \#(quoted(file))"#, #""rate": 500000"#])
    try bench.source("up.bin", size: Self.size, seed: 41)
    let events = bench.scratch.path + "/events.jsonl"
    try bench.writeJob(
      job(fake.url, Self.up, endpoint: ", auth: { bearer: { command: [cat, \(quoted(file))] } }"))
    let running = try bench.start(bench.runArguments(["--events", events, "--log-level", "debug"]))
    try await RemoteKills.wait(while: { fake.count("PATCH", status: 204) < 3 })
    try bench.scratch.write("token", tokens[1], mode: 0o600)
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    try expectWhole(bench, run)
    #expect(fake.count("PATCH", status: 401) >= 1)
    #expect(fake.taken("PATCH") == Int64(Self.size))
    let found = try Sums.shell(
      "grep -rlE '\(tokens.joined(separator: "|"))' state report.json events.jsonl || true",
      in: bench.scratch.path)
    #expect(found == "")
    #expect(tokens.allSatisfy { !(run.end.errors + run.end.output).contains($0) })
  }

  /// Uploads that a server puts elsewhere go there without the endpoint's credentials.
  @Test func anotherOrigin() async throws {
    let bench = try Bench()
    let token = try bench.scratch.write("token", "home-tok3n", mode: 0o600)
    let other = try await StrictFake(bench, .tus)
    let home = try await StrictFake(
      bench, .tus, options: [#""elsewhere": \#(quoted(other.url))"#, #""token_file": \#(quoted(token))"#])
    try bench.source("up.bin", size: Self.size, seed: 41)
    let run = try await bench.run(
      job(
        home.url, Self.up, endpoint: ", auth: { bearer: { file: \(quoted(token)) } }, headers: { X-Team: t }")
    )
    try expectWhole(bench, run)
    #expect(other.taken("PATCH") == Int64(Self.size))
    #expect(
      other.log().allSatisfy { $0["headers"]["authorization"].isNull && $0["headers"]["x-team"].isNull })
  }

  /// The source changes between two attempts: the old upload is ended, a new one made.
  @Test func changedBetween() async throws {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .tus, options: [#""rate": 500000"#])
    try bench.source("up.bin", size: Self.size, seed: 41)
    try bench.writeJob(job(fake.url, Self.up))
    let running = try bench.start(bench.runArguments())
    try await RemoteKills.wait(while: { fake.count("PATCH", status: 204) < 3 })
    running.signal(SIGKILL)
    _ = try await running.wait()
    try bench.source("up.bin", size: Self.size, seed: 43)
    let run = try await bench.run()
    try expectWhole(bench, run)
    #expect(fake.count("DELETE", status: 204) == 1 && fake.count("POST", status: 201) == 2)
    #expect(run.remarks.contains("changed"))
  }
}
