import Foundation
import TestSupport
import Testing

/// What a glob may see by its name alone is not passed over as if it were not there.
@Suite(.turns, .enabled(if: getuid() == 0, "needs root to become somebody else"))
struct UnreadableFolderTests {
  @Test func aFolderThatCanBeListedAndNotEntered() async throws {
    let bench = try Bench()
    try bench.source("src/a", size: 1)
    try bench.source("src/locked/b", size: 1)
    try bench.writeJob(
      "version: 1\njob: locked\ntransfers: [{ id: up, upload: \"src/**\", to: \"http://127.0.0.1:1/\" }]\n")
    // The user has to reach the bench and the program.
    for (path, mode) in [("", 0o777), ("/src", 0o755), ("/src/locked", 0o744)] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: bench.job + path)
    }
    let program = bench.scratch.path + "/haul"
    // By another process: a file that this one writes may be open for writing in a program that another test starts.
    _ = try Sums.shell("cp \(quoted(Programs.haul)) \(quoted(program))", in: bench.scratch.path)
    let run = try Running(
      "/usr/bin/setpriv",
      ["--reuid=65534", "--regid=65534", "--clear-groups", program, "check", "job.yaml"],
      environment: bench.environment(), folder: bench.job, scratch: bench.scratch.path)
    let end = try await run.wait()
    #expect(end.status == 66, "\(end.errors)")
    #expect(end.errors.contains("the folder `src/locked/` can't be read: Permission denied"), "\(end.errors)")
  }
}
