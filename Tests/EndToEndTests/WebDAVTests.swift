import Foundation
import TestSupport
import Testing

/// WebDAV against servers that nobody here wrote: Apache's mod_dav and `rclone serve webdav`.
@Suite(.turns)
struct WebDAVTests {
  typealias Make = DAVServer.Make
  private static let environment = DAVServer.environment
  private static let names = [
    "plain.bin", "a b/ü%#?&.bin", "a b/deep/er/+;=@,$!.bin", "a b/%41'\"<>.bin", "e\u{301}/\u{e9}.bin",
    "empty",
  ]

  private func job(_ endpoint: String, _ transfers: String...) -> String {
    ServedFolder.job(endpoint, transfers)
  }

  private func files(_ server: DAVServer) throws -> [String: String] { try files(server.folder) }

  private func files(_ folder: String) throws -> [String: String] { try ServedFolder.files(folder) }

  private func served(_ make: Make) async throws -> ServedFolder {
    let bench = try Bench()
    let server = try await DAVServer(make, bench)
    return ServedFolder(bench: bench, folder: server.folder, environment: Self.environment) {
      server.endpoint($0)
    }
  }

  @Test(arguments: Make.allCases) func aTreeThereAndBack(_ make: Make) async throws {
    let served = try await served(make)
    try served.make(Self.names, sizes: 1000)
    // The tags of files that are a second old are strong ones.
    let run = try await served.up(Self.names, rest: .milliseconds(1100))
    for transfer in run.transfers { #expect(transfer["protocol"].string == "webdav") }
    try await served.down(Self.names)
  }

  @Test(arguments: Make.allCases) func whatIsThere(_ make: Make) async throws {
    try await served(make).replaces()
  }

  /// No byte is sent before the folder is out of the way.
  @Test(arguments: Make.allCases) func aFolderIsNotReplaced(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await DAVServer(make, bench)
    let inner = server.folder + "/in/sub"
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
    guard chmod(server.folder + "/in", 0o777) == 0 else { throw TestFault("chmod: errno \(errno)") }
    try SeededFile.make(inner + "/mine", size: 10)
    try bench.source("a.bin", size: 5000)
    let refused = try await bench.run(
      job(server.endpoint(), "{ id: one, upload: a.bin, to: \"files:in/sub\" }"),
      environment: Self.environment)
    #expect(refused.state("one") == "failed DESTINATION_EXISTS", "\(refused.errors)")
    #expect(refused["one"]["error"]["message"].string?.contains("is a folder") == true)
    #expect(refused.transferred == 0)
    #expect(try Set(files(server).keys) == ["in/sub/mine"])
    try FileManager.default.removeItem(atPath: inner)
    let run = try await bench.run(nil, environment: Self.environment)
    #expect(run.state("one") == "completed" && run.transferred == 5000, "\(run.errors)")
    #expect(try files(server) == ["in/sub": Sums.file(bench.job + "/a.bin")])
  }

  @Test(arguments: Make.allCases) func aWrongPasswordIsTold(_ make: Make) async throws {
    let bench = try Bench()
    let server = try await DAVServer(make, bench)
    try bench.source("a.bin", size: 5000)
    let run = try await bench.run(
      job(
        server.endpoint(), "{ id: up, upload: a.bin, to: \"files:a.bin\" }",
        "{ id: down, download: \"files:b.bin\", to: b.bin }"),
      environment: ["DAV_PASSWORD": "dav-pass-of-yesterday"])
    #expect(run.state("up") == "failed UNAUTHORIZED" && run.state("down") == "failed UNAUTHORIZED")
    #expect(run.transferred == 0)
    #expect(try files(server).isEmpty)
    let listing = try await bench.haul(["plan", "job.yaml"], environment: Self.environment)
    #expect(listing.status == 0, "\(listing.errors)")
    try bench.writeJob(job(server.endpoint(), "{ id: all, download: \"files:x/\", to: x/ }"))
    let refused = try await bench.haul(["plan", "job.yaml"], environment: ["DAV_PASSWORD": "wrong"])
    #expect(refused.status != 0 && refused.errors.contains("401"), "\(refused.errors)")
  }

  /// Apache takes a body to its end before it says that the folder is missing.
  @Test(.enabled(if: Apache.isInstalled, "needs apache2")) func noBodyGoesTwiceIntoANewFolder() async throws {
    let bench = try Bench()
    let server = try await DAVServer(.apache, bench)
    for number in 0..<8 { try bench.source("up/f\(number).bin", size: 1 << 20, seed: UInt64(number)) }
    let run = try await bench.run(
      job(server.endpoint(), "{ id: up, upload: up/**, to: \"files:new/er/\" }"),
      environment: Self.environment)
    #expect(run.status == 0 && run.transferred == 8 << 20, "\(run.errors)")
    #expect(try files(server).count == 8)
    let log = server.log()
    #expect(log.filter { $0["method"].string == "PUT" }.allSatisfy { $0["status"].int == 201 })
    // Of the folder, of the one above it, and again of the folder.
    #expect(log.filter { $0["method"].string == "MKCOL" }.map { $0["status"].int } == [409, 201, 201])
  }

  @Test(arguments: Make.allCases) func whatIsMissing(_ make: Make) async throws {
    try await served(make).tellsWhatIsMissing()
  }

  @Test(.enabled(if: Apache.isInstalled, "needs apache2"), arguments: ["replace", "fail"])
  func kills(_ ifExists: String) async throws {
    let size = (4 << 20) + 5
    try await RemoteKills.torture("webdav upload, \(ifExists)", cost: size, resumes: false) { seed in
      let bench = try Bench()
      let server = try await DAVServer(.apache, bench)
      let folder = server.folder + "/in"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      guard chmod(folder, 0o777) == 0 else { throw TestFault("chmod: errno \(errno)") }
      try bench.source("a.bin", size: size, seed: seed)
      try bench.writeJob(
        """
        version: 1
        job: killed
        endpoints: { files: \(server.endpoint()) }
        defaults: { policy: { bandwidth: 8MiB/s } }
        transfers: [{ id: one, upload: a.bin, to: "files:in/one.bin", if_exists: \(ifExists) }]
        """)
      let names = { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
      return RemoteKills.Round(
        bench: bench, environment: Self.environment, span: 700, isBegun: { !names().isEmpty },
        isOver: { names().contains { $0.hasPrefix(".haul-") || $0 == "one.bin" } },
        settle: { _ throws -> Int64 in
          #expect(try Sums.file(folder + "/one.bin") == Sums.file(bench.job + "/a.bin"))
          #expect(names() == ["one.bin"])
          let puts = server.log().filter { $0["method"].string == "PUT" }
          let sent = puts.reduce(0) { $0 + ($1["bytes_in"].int ?? 0) }
          return max(0, sent - Int64(size) - 4096 * Int64(puts.count))
        })
    }
  }

  /// What a server stored cut short is sent again; a file that was there stays until all has arrived.
  @Test(arguments: [(5000, 1, true), (2 << 20, 1, true), (2 << 20, 99, false)])
  func whatArrivesShortIsSentAgain(_ size: Int, _ cuts: Int, _ arrives: Bool) async throws {
    let bench = try Bench()
    let server = try await CuttingDAV(bench, cuts: cuts)
    try bench.source("a.bin", size: size)
    if !arrives { try SeededFile.make(server.folder + "/a.bin", size: 10) }
    let before = try files(server.folder)
    let run = try await bench.run(
      job("{ type: webdav, url: \"\(server.url)\" }", "{ id: up, upload: a.bin, to: \"files:a.bin\" }"))
    #expect(run.state("up") == (arrives ? "completed" : "failed LENGTH_MISMATCH"), "\(run.errors)")
    let sent = ["a.bin": try #require(try Sums.file(bench.job + "/a.bin"))]
    #expect(try files(server.folder) == (arrives ? sent : before))
  }

  /// `rclone serve webdav` tells a type by the name's extension, whatever was sent: a look at the file finds that out.
  @Test func aTypeThatIsNotKept() async throws {
    let bench = try Bench()
    let server = try await DAVServer(.rclone, bench)
    try bench.source("a.txt", size: 500)
    let kept = "preserve: [content_type!]"
    let run = try await bench.run(
      job(
        server.endpoint(), "{ id: own, upload: a.txt, to: \"files:own.txt\", \(kept) }",
        "{ id: other, upload: a.txt, to: \"files:other.txt\", content_type: application/x-own, \(kept) }"),
      environment: Self.environment)
    #expect(run.state("own") == "completed", "\(run.errors)")
    #expect(run.state("other") == "failed ATTRIBUTES_LOST", "\(run.errors)")
    #expect(run["other"]["lost"].array.compactMap(\.string) == ["content_type"])
  }

  @Test(arguments: Make.allCases) func nothingIsLeftOfAnAbandonedUpload(_ make: Make) async throws {
    try await served(make).keepsNothingOfAnAbandonedUpload()
  }
}
