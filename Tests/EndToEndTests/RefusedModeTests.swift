import TestSupport
import Testing

/// A file system that refuses every mode: exFAT by FUSE, some network mounts. What it answers can be had anywhere: a library
/// that is loaded before libc answers fchmod(2) so.
@Suite(.turns)
struct RefusedModeTests {
  private static let library = """
    #include <errno.h>
    #include <sys/stat.h>

    int fchmod(int descriptor, mode_t mode) {
      errno = EPERM;
      return -1;
    }
    """

  /// Nobody has asked for a mode: the bytes count. Where the manifest gives one, nothing is published without it.
  @Test(arguments: [false, true], [1000, 100_000])
  func theBytesAreRightAllTheSame(isDemanded: Bool, size: Int) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: size)
    let mode = isDemanded ? ", mode: '0644'" : ""
    try bench.writeJob(
      """
      version: 1
      job: modes
      endpoints: { depot: \(depot.endpoint) }
      transfers: [{ id: one, download: "depot:a.bin", to: out/a.bin\(mode) }]

      """)
    let source = try bench.scratch.write("modes.c", Self.library)
    let library = bench.scratch.path + "/modes.so"
    _ = try Sums.shell("cc -shared -fPIC -o \(library) \(source)", in: bench.scratch.path)
    let run = try await bench.run(nil, environment: ["LD_PRELOAD": library])
    #expect(run.faults == "")
    guard !isDemanded else {
      #expect(run.status == 1 && run.state("one") == "failed PERMISSION_DENIED", "\(run.errors)")
      let message = run["one"]["error"]["message"].string ?? ""
      #expect(message.contains("out/a.bin`") && !bench.exists("out/a.bin"), "\(message)")
      // The file system was changed.
      let second = try await bench.run(nil)
      #expect(second.status == 0 && second.faults == "", "\(second.errors)")
      #expect(try bench.isSame("out/a.bin", "a.bin"))
      return
    }
    #expect(run.status == 0 && run.state("one") == "completed", "\(run.errors)")
    #expect(run.remarks.contains("out/a.bin`") && run.remarks.contains("the mode of"), "\(run.remarks)")
    #expect(try bench.isSame("out/a.bin", "a.bin") && bench.parts().isEmpty)
    let second = try await bench.run(nil, environment: ["LD_PRELOAD": library])
    #expect(second.status == 0 && second.transferred == 0, "\(second.errors)")
  }
}
