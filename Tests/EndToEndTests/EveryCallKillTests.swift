import Foundation
import TestSupport
import Testing

/// A first run, killed before each call that syncs, cuts, renames, links or removes a file, for every one of them: the next run
/// is as if nothing had been.
///
/// Kills by the clock seldom meet the instants in which a plan is made. A library that is loaded before libc counts the
/// calls, and ends the process before the one that it is told.
@Suite(.turns)
struct EveryCallKillTests {
  private static let library = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <signal.h>
    #include <stdatomic.h>
    #include <stdlib.h>
    #include <sys/types.h>

    static void count(void) {
      static atomic_int calls;
      if (atomic_fetch_add(&calls, 1) + 1 == atoi(getenv("KILL_BEFORE"))) raise(SIGKILL);
    }
    #define COUNTED(result, name, parameters, arguments) \\
      result name parameters { \\
        static result (*real) parameters; \\
        if (real == NULL) real = dlsym(RTLD_NEXT, #name); \\
        count(); \\
        return real arguments; \\
      }
    COUNTED(int, ftruncate, (int file, off_t size), (file, size))
    COUNTED(int, ftruncate64, (int file, off_t size), (file, size))
    COUNTED(int, fsync, (int file), (file))
    COUNTED(int, fdatasync, (int file), (file))
    COUNTED(int, syncfs, (int file), (file))
    COUNTED(int, link, (const char *old, const char *path), (old, path))
    COUNTED(int, linkat, (int a, const char *old, int b, const char *path, int flags), (a, old, b, path, flags))
    COUNTED(int, rmdir, (const char *path), (path))
    COUNTED(int, unlink, (const char *path), (path))
    COUNTED(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
    COUNTED(int, rename, (const char *old, const char *path), (old, path))
    COUNTED(int, renameat, (int a, const char *old, int b, const char *path), (a, old, b, path))
    COUNTED(int, renameat2, (int a, const char *old, int b, const char *path, unsigned flags), (a, old, b, path, flags))
    """

  @Test func aFirstRunIsKilledAnywhere() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("small.bin", size: 3000, seed: 1)
    try bench.serve("large.bin", size: 200_000, seed: 2)
    try bench.source("up.bin", size: 100_000, seed: 3)
    try bench.writeJob(
      """
      version: 1
      job: first
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 64KiB }
      transfers:
        - { id: small, download: "depot:small.bin", to: got/small.bin }
        - { id: large, download: "depot:large.bin", to: got/large.bin }
        - { id: up, upload: up.bin, to: "depot:in/up.bin" }

      """)
    let source = try bench.scratch.write("kill.c", Self.library)
    let library = bench.scratch.path + "/kill.so"
    _ = try Sums.shell("cc -shared -fPIC -o \(library) \(source) -ldl", in: bench.scratch.path)
    let files = FileManager.default
    var calls = 0
    while true {
      calls += 1
      for path in [bench.state, bench.job + "/got", bench.served + "/in"] {
        try? files.removeItem(atPath: path)
      }
      let killed = try await bench.haul(
        bench.runArguments(), environment: ["LD_PRELOAD": library, "KILL_BEFORE": String(calls)])
      let run = try await bench.run()
      #expect(run.status == 0 && run.faults == "", "call \(calls): \(run.errors)")
      // The last calls come when the first run has ended.
      for id in ["small", "large", "up"] {
        #expect(["completed", "up_to_date"].contains(run.state(id)), "call \(calls): \(run.state(id))")
      }
      #expect(try bench.isSame("got/small.bin", "small.bin") && bench.isSame("got/large.bin", "large.bin"))
      #expect(try bench.isSame("up.bin", "in/up.bin"), "call \(calls)")
      #expect(bench.parts().isEmpty && Leftovers.openSessions(bench).isEmpty, "call \(calls)")
      guard killed.status == 128 + SIGKILL else {
        // It made fewer calls than that.
        #expect(killed.status == 0, "call \(calls): \(killed.errors)")
        break
      }
    }
    // Each of many did end a run: the library was there, and counted.
    #expect(calls > 50)
    print("killed before each of \(calls - 1) calls")
  }
}
