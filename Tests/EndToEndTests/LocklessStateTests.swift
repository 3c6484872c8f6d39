import Foundation
import TestSupport
import Testing

/// A state folder on a file system that can't lock is refused: two runners would not see each other there.
///
/// A file system of that kind (NFS without its lock service) can't be mounted everywhere tests run. What it answers can
/// be had: a library that is loaded before libc answers flock(2) or fcntl(2) as such a file system does.
@Suite(.turns)
struct LocklessStateTests {
  private static let library = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <stdarg.h>
    #include <stdlib.h>
    #include <string.h>

    static int refuses(const char *call) {
      const char *named = getenv("NO_LOCKS");
      if (named == NULL || strcmp(named, call) != 0) return 0;
      errno = atoi(getenv("NO_LOCKS_ERRNO"));
      return 1;
    }
    int flock(int descriptor, int operation) {
      static int (*real)(int, int);
      if (refuses("flock")) return -1;
      if (real == NULL) real = dlsym(RTLD_NEXT, "flock");
      return real(descriptor, operation);
    }
    static int control(int descriptor, int command, void *argument) {
      static int (*real)(int, int, ...);
      if ((command == F_SETLK || command == F_SETLKW || command == F_GETLK) && refuses("fcntl")) return -1;
      if (real == NULL) real = dlsym(RTLD_NEXT, "fcntl64");
      return real(descriptor, command, argument);
    }
    int fcntl(int descriptor, int command, ...) {
      va_list list;
      va_start(list, command);
      void *argument = va_arg(list, void *);
      va_end(list);
      return control(descriptor, command, argument);
    }
    int fcntl64(int descriptor, int command, ...) {
      va_list list;
      va_start(list, command);
      void *argument = va_arg(list, void *);
      va_end(list);
      return control(descriptor, command, argument);
    }
    """

  @Test(arguments: ["flock", "fcntl"], [ENOLCK, EOPNOTSUPP])
  func isRefused(_ call: String, _ number: Int32) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 1000)
    try bench.writeJob(
      """
      version: 1
      job: lockless
      endpoints: { depot: \(depot.endpoint) }
      transfers: [{ id: one, download: "depot:a.bin", to: a.bin }]

      """)
    let source = try bench.scratch.write("nolocks.c", Self.library)
    let library = bench.scratch.path + "/nolocks.so"
    _ = try Sums.shell("cc -shared -fPIC -o \(library) \(source) -ldl", in: bench.scratch.path)
    let without = ["LD_PRELOAD": library, "NO_LOCKS": call, "NO_LOCKS_ERRNO": String(number)]
    for command in ["run", "plan"] {
      let end = try await bench.haul([command, "job.yaml"], environment: without)
      #expect(end.status == 73, "\(command): \(end.status) \(end.errors)")
      #expect(end.errors.contains("lock"), "\(end.errors)")
      #expect(end.errors.contains("--state-dir"), "\(end.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: bench.state + "/.plans"), "a draft was left")
    #expect(!bench.exists("a.bin") && bench.parts().isEmpty)
    #expect(try await depot.log().isEmpty)
    // The same library, silent: the refusal was the lock's.
    let run = try await bench.run(nil, environment: ["LD_PRELOAD": library])
    #expect(run.status == 0, "\(run.errors)")
  }
}
