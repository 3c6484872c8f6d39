import Foundation
import TestSupport
import Testing

/// What OpenSSH's server can't be given, and what it says of it: times, places, disks, agents.
@Suite(.turns)
struct SFTPRefusalsTests {
  private func job(_ endpoint: String, _ transfers: String...) -> String {
    ServedFolder.job(endpoint, transfers, defaults: ", chunk_size: 256KiB")
  }

  /// Version 3 has no time before 1970: none is made up, and where it may not be lost no byte moves.
  @Test func aTimeThatCannotBeToldIsLost() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    try bench.source("a.bin", size: 5000)
    _ = try Sums.shell("touch -d @-1000 a.bin", in: bench.job)
    let run = try await bench.run(
      job(
        server.endpoint(), "{ id: may, upload: a.bin, to: \"files:may\", preserve: [mtime] }",
        "{ id: must, upload: a.bin, to: \"files:must\", preserve: [mtime!] }"))
    #expect(run.state("may") == "completed", "\(run.errors)")
    #expect(run["may"]["lost"].array.compactMap(\.string) == ["mtime"])
    let kept = try FileManager.default.attributesOfItem(atPath: server.folder + "/may")
    #expect((kept[.modificationDate] as? Date).map { $0.timeIntervalSince1970 > 1_600_000_000 } == true)
    #expect(run.state("must") == "failed ATTRIBUTES_LOST" && run.transferred == 5000, "\(run.errors)")
  }

  /// An agent that is not there, or has no keys, is no refusal of the server's: the next run may find one.
  @Test(arguments: [("/nowhere", "nothing answers"), (nil, "it has no keys")] as [(String?, String)])
  func agentsThatHaveNothing(_ socket: String?, _ words: String) async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    var path = socket ?? ""
    if socket == nil {
      path = try await server.agent(bench, speaks: true)
      _ = try Sums.shell("SSH_AUTH_SOCK=\(path) ssh-add -q -D", in: server.own)
    }
    try bench.source("a.bin", size: 5000)
    let run = try await bench.run(
      job(
        server.endpoint(login: "user: \(server.user), agent: true"),
        "{ id: up, upload: a.bin, to: \"files:a.bin\" }"),
      environment: ["SSH_AUTH_SOCK": path])
    #expect(run["up"]["error"]["code"].string == "SECRET_UNAVAILABLE", "\(run.errors)")
    #expect(run.status == 75 && run.errors.contains(words), "\(run.errors)")
  }

  /// What can't take the upload's place is told before a byte is sent, and nothing is left beside it.
  @Test func whatCannotBeReplaced() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    try FileManager.default.createDirectory(
      atPath: server.folder + "/folder", withIntermediateDirectories: true)
    try #require(mkfifo(server.folder + "/fifo", 0o644) == 0)
    try #require(FileManager.default.createFile(atPath: server.folder + "/file", contents: Data()))
    try bench.source("a.bin", size: 5000)
    let long = String(repeating: "y", count: 300)
    let run = try await bench.run(
      job(
        server.endpoint(), "{ id: folder, upload: a.bin, to: \"files:folder\" }",
        "{ id: fifo, upload: a.bin, to: \"files:fifo\" }",
        "{ id: below, upload: a.bin, to: \"files:file/b/a.bin\", if_exists: keep }",
        "{ id: long, upload: a.bin, to: \"files:\(long)\" }"))
    #expect(run.state("folder") == "failed DESTINATION_EXISTS", "\(run.errors)")
    #expect(run.state("fifo") == "failed DESTINATION_EXISTS", "\(run.errors)")
    #expect(run.state("below") == "failed NOT_FOUND", "\(run.errors)")
    #expect(run.state("long") == "failed PROTOCOL_VIOLATION", "\(run.errors)")
    #expect(run.transferred == 0)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: server.folder).sorted() == [
        "fifo", "file", "folder",
      ])
  }

  /// OpenSSH says of a write to a full disk that it failed: the next run goes on where there is room.
  @Test(.enabled(if: Mount.isAllowed, "mounting needs root")) func aFullDiskIsNamed() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    let mount = try Mount.small(4 << 20, at: server.folder + "/small")
    try bench.source("a.bin", size: 6 << 20)
    let run = try await bench.run(
      job(server.endpoint(), "{ id: up, upload: a.bin, to: \"files:small/a.bin\" }"))
    #expect(run["up"]["error"]["code"].string == "DISK_FULL" && run.status == 75, "\(run.errors)")
    try mount.change("size=32m")
    let next = try await bench.run(nil)
    #expect(next.state("up") == "completed", "\(next.errors)")
    #expect(try Sums.file(mount.folder + "/a.bin") == Sums.file(bench.job + "/a.bin"))
  }

  /// To open a FIFO would hold its connection, and the files that share it, until somebody writes to it.
  @Test func aFIFOIsNotOpened() async throws {
    let bench = try Bench()
    let server = try await SSHServer(.openssh, bench)
    try #require(mkfifo(server.folder + "/fifo", 0o644) == 0)
    for name in ["a", "b"] { try SeededFile.make(server.folder + "/" + name, size: 10) }
    let run = try await bench.run(
      job(
        server.endpoint(), "{ id: fifo, download: \"files:fifo\", to: fifo }",
        "{ id: a, download: \"files:a\", to: a }", "{ id: b, download: \"files:b\", to: b }"))
    #expect(run.state("fifo") == "failed NOT_FOUND", "\(run.errors)")
    #expect(run["fifo"]["error"]["message"].string?.contains("can't be read as a file") == true)
    #expect(run.state("a") == "completed" && run.state("b") == "completed", "\(run.errors)")
  }
}
