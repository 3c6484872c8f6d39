import Foundation
import TestSupport
import Testing

/// Limits of processes: what can't start its threads says so.
@Suite(.turns, .enabled(if: getuid() == 0, "needs root to become somebody else"))
struct ThreadLimitTests {
  @Test(arguments: [1, 3, 8]) func tooFewThreads(_ most: Int) async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [.init("", body: "bytes")])
    try bench.writeJob(
      "version: 1\njob: threads\ntransfers: [{ id: f, download: \(quoted(server.url + "/f")), to: f }]\n")
    // root is not limited; a user of no other process is. The user has to reach the bench and the program.
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: bench.job)
    let program = bench.scratch.path + "/haul"
    // By another process: a file that this one writes may be open for writing in a program that another test starts.
    _ = try Sums.shell("cp \(quoted(Programs.haul)) \(quoted(program))", in: bench.scratch.path)
    // Others' processes count: each case has a user of its own.
    let user = 70_000 + Int(getpid()) * 10 + most
    let run = try Running(
      "/usr/bin/prlimit",
      [
        "--nproc=\(most)", "/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups",
        program,
        "run",
        "job.yaml", "--state-dir", bench.job + "/state", "--no-progress",
      ], environment: bench.environment(), folder: bench.job, scratch: bench.scratch.path)
    let end = try await run.wait()
    #expect(end.status == 75, "\(end.errors)")
    #expect(
      end.errors.contains("threads can't be started") && end.errors.contains("ulimit -u"), "\(end.errors)")
    #expect(server.log().isEmpty)
  }
}
