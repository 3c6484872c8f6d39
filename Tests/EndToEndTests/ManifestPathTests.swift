import Foundation
import TestSupport
import Testing

/// Which manifest a job's state belongs to.
@Suite(.turns)
struct ManifestPathTests {
  /// A job belongs to its manifest's path as it is given: a link that leads elsewhere by now is the same manifest.
  @Test func aLinkThatMovesOn() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("f", size: 1000)
    let yaml =
      "version: 1\njob: linked\nendpoints: { depot: \(depot.endpoint) }\ntransfers: [ { id: a, download: \"depot:f\", to: f } ]\n"
    let files = FileManager.default
    let root = bench.scratch.path
    for release in ["r1", "r2"] {
      try files.createDirectory(atPath: root + "/\(release)", withIntermediateDirectories: true)
      try Data(yaml.utf8).write(to: URL(fileURLWithPath: root + "/\(release)/job.yaml"))
    }
    func run(_ path: String) async throws -> Finished {
      try await bench.haul(["run", path, "--no-progress", "--log-level", "warning"])
    }
    for release in ["r1", "r2"] {
      _ = try Sums.shell("ln -sfn \(release) current", in: root)
      let end = try await run(root + "/current/job.yaml")
      #expect(end.status == 0, "\(release): \(end.errors)")
    }
    // Another manifest under the name, while the known one is there; then taken over when it is gone.
    let other = try await run(root + "/r1/job.yaml")
    #expect(
      other.status == 65 && other.errors.contains("known to the state from another manifest"),
      "\(other.errors)")
    try files.removeItem(atPath: root + "/current")
    let taken = try await run(root + "/r1/job.yaml")
    #expect(taken.status == 0 && taken.errors.contains("taken over"), "\(taken.errors)")
    let again = try await run(root + "/r1/job.yaml")
    #expect(again.status == 0 && !again.errors.contains("taken over"), "\(again.errors)")
  }

  /// Commands that read a job's manifest again work in the job's own state, whatever that names by now; and they tell one
  /// that has errors from one that is gone.
  @Test func aManifestThatChangedSince() async throws {
    let bench = try Bench()
    let yaml =
      "version: 1\njob: first\ntransfers: [{ id: a, download: \"http://127.0.0.1:1/a\", to: a, enabled: false }]\n"
    _ = try await bench.run(yaml)
    // Another job's copy of a source.
    let copy = try bench.scratch.write("state/second/snapshots/0a1b2c3d", "of another upload")
    try bench.writeJob(yaml.replacing("first", with: "second"))
    for command in ["pause", "gc"] {
      let end = try await bench.haul([command, "first"])
      #expect(end.status == 0, "\(end.errors)")
    }
    #expect(FileManager.default.fileExists(atPath: copy))
    try bench.writeJob("transfers: [\n")
    for (command, status) in [("pause", 66), ("verify", 66), ("gc", 0)] as [(String, Int32)] {
      let end = try await bench.haul([command, "first"])
      #expect(end.status == status && end.errors.contains("has errors by now"), "\(end.errors)")
    }
    try FileManager.default.removeItem(atPath: bench.job + "/job.yaml")
    let end = try await bench.haul(["pause", "first"])
    #expect(end.status == 66 && end.errors.contains("can't be read any more"), "\(end.errors)")
  }

  /// Every link lies below `/`, as those of a container do.
  @Test func aJobOfTheRootFolder() async throws {
    let bench = try Bench()
    try bench.writeJob(
      "version: 1\njob: root\ntransfers: [{ id: a, download: \"http://127.0.0.1:1/a\", to: bin/haul-test }]\n"
    )
    let end = try await Running(
      "/bin/sh", ["-c", "\"$0\" check - --root / < job.yaml", Programs.haul],
      environment: bench.environment(), folder: bench.job, scratch: bench.scratch.path
    ).wait()
    #expect(end.status == 0, "\(end.errors)")
  }
}
