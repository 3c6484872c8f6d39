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
