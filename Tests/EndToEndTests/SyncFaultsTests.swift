import Foundation
import TestSupport
import Testing

/// What the disk says when finished downloads are brought to it: nothing is called done that is not there.
///
/// A disk that refuses a sync can't be had everywhere tests run. What it answers can: a library that is loaded before
/// libc answers fsync(2) so, or waits, for files whose path ends in what it is told.
@Suite(.turns)
struct SyncFaultsTests {
  private static let library = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>

    int syncfs(int descriptor) {
      static int (*real)(int);
      const char *number = getenv("SYNCFS_ERRNO");
      if (number) {
        errno = atoi(number);
        return -1;
      }
      if (real == NULL) real = dlsym(RTLD_NEXT, "syncfs");
      return real(descriptor);
    }
    int sync_file_range(int descriptor, off64_t offset, off64_t count, unsigned flags) {
      static int (*real)(int, off64_t, off64_t, unsigned);
      const char *log = getenv("RANGE_LOG");
      if (log) {
        FILE *file = fopen(log, "ae");
        fprintf(file, "%lld+%lld:%u\\n", (long long)offset, (long long)count, flags);
        fclose(file);
        errno = EIO;
        return -1;
      }
      if (real == NULL) real = dlsym(RTLD_NEXT, "sync_file_range");
      return real(descriptor, offset, count, flags);
    }
    int fsync(int descriptor) {
      static int (*real)(int);
      char link[64], path[4096];
      snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
      ssize_t length = readlink(link, path, sizeof path - 1);
      path[length < 0 ? 0 : length] = 0;
      const char *ending = getenv("SYNC_OF"), *number = getenv("SYNC_ERRNO"), *hold = getenv("SYNC_HOLD");
      size_t count = ending ? strlen(ending) : 0;
      if (count && length >= (ssize_t)count && strcmp(path + length - count, ending) == 0) {
        const char *log = getenv("SYNC_LOG");
        if (log) {
          int file = open(log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
          if (write(file, "x", 1) != 1) abort();
          close(file);
          usleep(300000);
        }
        if (hold) {
          char mark[4096];
          snprintf(mark, sizeof mark, "%s.reached", hold);
          close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
          while (access(hold, F_OK) == 0) usleep(20000);
        }
        if (number) {
          errno = atoi(number);
          return -1;
        }
      }
      if (real == NULL) real = dlsym(RTLD_NEXT, "fsync");
      return real(descriptor);
    }
    """

  private func preload(_ bench: Bench) throws -> String {
    let source = try bench.scratch.write("sync.c", Self.library)
    _ = try Sums.shell("cc -shared -fPIC -o sync.so \(source) -ldl", in: bench.scratch.path)
    return bench.scratch.path + "/sync.so"
  }

  private func bench(_ count: Int, _ rule: String, policy: String = "{}") async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(bench)
    var transfers = ""
    for index in 0..<count {
      try bench.serve("f\(index).bin", size: 5000, seed: UInt64(index) + 1)
      transfers += "  - { id: f\(index), download: \"depot:f\(index).bin\", to: out/f\(index).bin }\n"
    }
    try bench.writeJob(
      """
      version: 1
      job: sync
      endpoints: { depot: \(depot.endpoint) }
      defaults: { if_exists: \(rule), policy: \(policy) }
      transfers:
      \(transfers)
      """)
    return (bench, depot)
  }

  /// A file of it, and a folder, on a broken disk and on one that turns out to be full.
  @Test(arguments: ["f1.bin", "/out"], [EIO, ENOSPC])
  func whatIsNotOnTheDiskIsNotDone(_ ending: String, _ number: Int32) async throws {
    let (bench, depot) = try await bench(3, ending == "/out" ? "fail" : "keep")
    let lost = ending == "/out" ? ["f0", "f1", "f2"] : ["f1"]
    let broken = [
      "LD_PRELOAD": try preload(bench), "SYNC_OF": ending, "SYNC_ERRNO": String(number),
    ]
    let run = try await bench.run(nil, environment: broken)
    #expect(run.faults == "")
    #expect(run.status == (number == EIO ? 1 : 75), "\(run.errors)")
    for id in ["f0", "f1", "f2"] {
      let failed = number == EIO ? "failed IO_ERROR" : "paused disk DISK_FULL"
      #expect(run.state(id) == (lost.contains(id) ? failed : "completed"))
      // The bytes may yet be of use to somebody, and are nowhere else.
      #expect(try bench.isSame("out/\(id).bin", "\(id).bin"))
    }
    #expect(run[lost[0]]["error"]["message"].string?.contains("sync") == true)
    let before = try await depot.log().downloads.count
    let again = try await bench.run(nil)
    #expect(again.status == 0 && again.faults == "", "\(again.errors)")
    for id in lost { #expect(again.state(id) == "completed") }
    // In memory it has the right digest; it is fetched again all the same, and only it.
    #expect(try await depot.log().downloads.count == before + lost.count)
    let third = try await bench.run(nil)
    #expect(third.status == 0 && third.transferred == 0)
    for id in ["f0", "f1", "f2"] { #expect(try bench.isSame("out/\(id).bin", "\(id).bin")) }
  }

  /// Many files are brought to the disk together. Where that fails, for whatever file of whatever program, each is asked.
  @Test func whatFailsForManyIsFoundAmongThem() async throws {
    let (bench, _) = try await bench(40, "replace")
    let broken = [
      "LD_PRELOAD": try preload(bench), "SYNCFS_ERRNO": String(EIO), "SYNC_OF": "f7.bin",
      "SYNC_ERRNO": String(EIO),
    ]
    let run = try await bench.run(nil, environment: broken)
    #expect(run.status == 1 && run.faults == "", "\(run.errors)")
    #expect(run.totals["completed"].int == 39 && run.state("f7") == "failed IO_ERROR")
  }

  /// Large chunks begin their way to the disk when they are whole; where that comes to nothing, the sync does it all.
  @Test func writingBeginsBeforeTheEnd() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("large", size: 5_000_000, seed: 1)
    try bench.writeJob(
      """
      version: 1
      job: sync
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: large, download: "depot:large", to: large, chunk_size: 2MiB }
      """)
    let log = try bench.scratch.write("ranges", "")
    let run = try await bench.run(nil, environment: ["LD_PRELOAD": try preload(bench), "RANGE_LOG": log])
    #expect(run.status == 0 && run.faults == "" && run.state("large") == "completed", "\(run.errors)")
    #expect(try bench.isSame("large", "large"))
    let begun = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
    // SYNC_FILE_RANGE_WRITE, and nothing that waits; what is left at the end is less than a MiB.
    #expect(Set(begun) == ["0+2097152:2", "2097152+2097152:2"])
  }

  /// What completes while a pass goes on, here on a slow disk, is left to the next one, five seconds later: not each few
  /// get a sync of theirs.
  @Test func passesTakeManyTogether() async throws {
    let (bench, _) = try await bench(400, "replace", policy: "{ transfers: 2, bandwidth: 100KB/s }")
    let log = try bench.scratch.write("synced", "")
    let run = try await bench.run(
      nil,
      environment: [
        "LD_PRELOAD": try preload(bench), "SYNCFS_ERRNO": String(EIO), "SYNC_OF": "/out", "SYNC_LOG": log,
      ])
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    let seconds = try #require(run.report["run"]["duration_s"].double)
    let syncs = try Data(contentsOf: URL(fileURLWithPath: log)).count
    // A pass shares the folder's files among 16 threads, and each of these syncs it; then once more those that completed
    // meanwhile, which are few.
    #expect(seconds > 10 && syncs >= 16 && syncs <= (Int(seconds / 5) + 2) * 32, "\(syncs) in \(seconds) s")
  }

  /// A signal ends the wait for the disk, the run does not end with 0, and the next one only waits.
  @Test func stoppedWhileItSyncs() async throws {
    let (bench, _) = try await bench(20, "replace")
    let hold = try bench.scratch.write("hold", "")
    let running = try bench.start(
      bench.runArguments(),
      environment: ["LD_PRELOAD": try preload(bench), "SYNC_OF": ".bin", "SYNC_HOLD": hold])
    let done = "SELECT count(*) = 20 FROM transfer WHERE state = 'completed'"
    while try !FileManager.default.fileExists(atPath: hold + ".reached") || !self.is(done, bench) {
      try await Task.sleep(for: .milliseconds(50))
    }
    running.signal(SIGINT)
    // It is noted while the syncs under way still wait.
    try await Task.sleep(for: .seconds(1))
    try FileManager.default.removeItem(atPath: hold)
    let first = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(first.status == 75 && first.faults == "" && first.outcome == "incomplete", "\(first.errors)")
    #expect(first.remarks.contains("not known to be on the disk"), "\(first.remarks)")
    #expect(first.totals["completed"].int == 20)
    let second = try await bench.run(nil)
    #expect(second.status == 0 && second.report["run"]["number"].int == 1, "\(second.errors)")
    #expect(second.report["run"]["attempts"].array.map { $0["exit_code"].int } == [75, 0])
    #expect(!second.remarks.contains("not known to be on the disk"), "\(second.remarks)")
    #expect(try self.is("SELECT count(*) = 20 FROM progress WHERE synced = 1", bench))
    // What the first attempt transferred is this run's; the second has moved nothing.
    #expect(second.transferred == first.transferred)
  }

  private func `is`(_ query: String, _ bench: Bench) throws -> Bool {
    let ledger = bench.state + "/sync/plan.sqlite"
    guard FileManager.default.fileExists(atPath: ledger) else { return false }
    let response = try? Sums.shell("sqlite3 -readonly -cmd '.timeout 2000' \(ledger) \"\(query)\"", in: "/")
    return response?.trimmingCharacters(in: .whitespacesAndNewlines) == "1"
  }
}
