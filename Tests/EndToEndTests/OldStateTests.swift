import Foundation
import TestSupport
import Testing

/// States that the version before left (5d7b749), kept as Tests/Fixtures/states: read, and gone on from.
@Suite(.turns)
struct OldStateTests {
  /// The manifest that they were made with; nothing listens at its ports.
  private static let manifest = """
    version: 1
    job: before
    endpoints: { depot: { type: session, url: "http://127.0.0.1:1" } }
    policies: { one: { transfers: 1, retry: { attempts: 1 } } }
    defaults: { policy: one, chunk_size: 64KiB }
    transfers:
      - { id: bad, download: "depot:bad.bin", to: bad.bin }
      - { id: dead, download: "http://127.0.0.1:1/x", to: x.bin }
      - { id: a, download: "depot:a.bin", to: a.bin }
      - { id: large, download: "depot:large.bin", to: large.bin }
    """

  private func bench(with kind: String) throws -> Bench {
    let bench = try Bench()
    let fixtures = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
    _ = try Sums.shell("tar xzf \(fixtures)/Fixtures/states/\(kind).tar.gz -C \(bench.state)", in: "/")
    return bench
  }

  /// A runner of that version holds the lock: no other command changes its tables, and each says what to do.
  @Test(arguments: [
    ["status", "before"], ["status"], ["report", "before"], ["history", "before"],
    ["plan", "job.yaml", "--adopt"],
    ["pause", "before"], ["limit", "before", "1MB/s"],
  ])
  func aRunOfTheVersionBeforeIsLeftAlone(_ command: [String]) async throws {
    let bench = try bench(with: "stopped")
    try bench.writeJob(Self.manifest)
    let folder = bench.state + "/before"
    // They were made elsewhere: what needs the manifest finds it where the record says.
    let record = "UPDATE meta SET value = '\(bench.job)/job.yaml' WHERE name = 'manifest'"
    _ = try Sums.shell("sqlite3 \(folder)/plan.sqlite \"\(record)\"", in: "/")
    let lock = open(folder + "/run.lock", O_RDWR | O_CLOEXEC)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
    let tables = ["sqlite3", "-readonly", folder + "/plan.sqlite", ".schema"]
    let before = try Sums.shell(tables.joined(separator: " "), in: "/")
    let end = try await bench.haul(command)
    #expect(end.status == 76, "\(end.errors)")
    #expect(end.errors.contains("an older haul is running the job `before`"), "\(end.errors)")
    #expect(try Sums.shell(tables.joined(separator: " "), in: "/") == before)
    #expect(flock(lock, LOCK_UN) == 0)
    let after = try await bench.haul(command)
    #expect(after.status == 0, "\(after.errors)")
  }

  /// A command that only migrates is no runner: `--if-running skip` waits for it, in place of leaving a night out.
  @Test func aRunWaitsForAMigration() async throws {
    let bench = try bench(with: "stopped")
    try bench.writeJob(Self.manifest)
    let folder = bench.state + "/before"
    let locks = ["run.lock", "command.lock"].map {
      open(folder + "/" + $0, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    }
    defer { for lock in locks { close(lock) } }
    for lock in locks { #expect(flock(lock, LOCK_EX | LOCK_NB) == 0) }
    async let run = bench.haul(["run", "job.yaml", "--adopt", "--if-running", "skip"])
    // Longer than a runner's lock is waited for.
    try await Task.sleep(for: .seconds(1))
    for lock in locks { #expect(flock(lock, LOCK_UN) == 0) }
    let end = try await run
    // Its hosts are not there: only a run that took place says so.
    #expect(end.status == 75 && !end.errors.contains("is running already"), "\(end.errors)")
  }

  /// What tells a store from others is more by now: what it holds is gone on with, and the plan says so.
  @Test func aPlanKnowsFormerIdentities() async throws {
    let bench = try bench(with: "former")
    try bench.source("a.bin", size: 1000)
    // As it was run: it proves that the store is the same.
    try bench.writeJob(
      """
      version: 1
      job: former
      endpoints: { up: { type: tus, url: "http://127.0.0.1:1/files", metadata: { bucket: media } } }
      policies: { one: { transfers: 1, retry: { attempts: 1 } } }
      defaults: { policy: one }
      transfers:
        - { id: a, upload: a.bin, to: "up:a.bin" }
        - { id: b, upload: a.bin, to: "http://127.0.0.1:1/b.bin?signature=old" }
        - { id: c, download: "http://127.0.0.1:1/c.bin", to: c.bin }

      """)
    let plan = try await bench.haul(["plan", "job.yaml", "--adopt"])
    #expect(plan.status == 0 && !plan.output.contains("anew)"), "\(plan.output)")
    for id in ["a", "b", "c"] { #expect(plan.output.contains(" \(id) (again: NETWORK_UNREACHABLE)")) }
    // Another store is one, still.
    let yaml = try String(contentsOfFile: bench.job + "/job.yaml", encoding: .utf8)
    try bench.writeJob(yaml.replacing("bucket: media", with: "bucket: other"))
    let other = try await bench.haul(["plan", "job.yaml", "--adopt"])
    #expect(other.output.contains(" a (changed: another source, destination or endpoint: it starts anew)"))
  }

  /// A finished run, of which a host was dead, is over; one that was stopped or killed goes on.
  @Test(arguments: [("finished", 2, 1), ("stopped", 1, 2), ("killed", 1, 2)])
  func goesOn(_ kind: String, number: Int64, attempt: Int64) async throws {
    let bench = try bench(with: kind)
    let depot = try await Depot(bench)
    try bench.serve("bad.bin", size: 10)
    try bench.serve("a.bin", size: 1000)
    try bench.serve("large.bin", size: 700_000)
    let old = try JSON.parse(try await bench.haul(["report", "before", "--format", "json"]).output)
    #expect(old["run"]["number"].int == 1 && old["transfers"].array.count == 4)
    #expect(!old["transfers"].array.contains { $0["state"].string == "running" })
    let history = try await bench.haul(["history", "before"])
    #expect(history.status == 0 && !history.output.contains("running"), "\(history.output)")
    let yaml = Self.manifest.replacing("http://127.0.0.1:1\" }", with: depot.url + "\" }")
    let run = try await bench.run(yaml, ["--adopt"])
    #expect(run.status == 75 && run.faults == "", "\(run.errors)")
    #expect(run.report["run"]["number"].int == number && run.report["run"]["attempt"].int == attempt)
    for id in ["bad", "a", "large"] { #expect(run.state(id) == "completed", "\(id): \(run.errors)") }
    #expect(run.state("dead") == "paused retries NETWORK_UNREACHABLE")
    #expect(try bench.isSame("large.bin", "large.bin"))
  }
}
