import Foundation

/// A Slurm of one machine (`Scripts/slurm-cluster`), on ports of its own; it ends with the value.
package final class SlurmCluster: Sendable {
  private let process: Running
  private let bench: Bench
  package let configuration: String

  /// Slurm and munge are installed, and slurmd may start tasks.
  package static var isUsable: Bool {
    geteuid() == 0 && ["slurmctld", "slurmd", "sbatch", "munged"].allSatisfy { Programs.find($0) != nil }
  }

  package init(_ bench: Bench, cores: Int) async throws {
    self.bench = bench
    let folder = bench.scratch.path + "/slurm"
    configuration = folder + "/slurm.conf"
    process = try Running(
      Programs.root + "/Scripts/slurm-cluster", [folder, "\(cores)"],
      environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], folder: "/", scratch: bench.scratch.path)
    for _ in 0..<600 {
      if process.output.contains("ready") { return }
      guard process.isAlive else { break }
      try await Task.sleep(for: .milliseconds(200))
    }
    throw TestFault("slurm did not come up: \(process.output)\(process.errors.suffix(3000))")
  }

  /// Ends the daemons.
  package func end() async {
    process.signal(SIGTERM)
    _ = try? await process.wait(.seconds(30))
  }

  /// Runs one of Slurm's commands.
  @discardableResult
  package func command(
    _ words: [String], environment: [String: String] = [:], limit: Duration = .seconds(120)
  ) async throws -> Finished {
    try await Running(
      words[0], Array(words.dropFirst()),
      environment: bench.environment(["SLURM_CONF": configuration].merging(environment) { $1 }),
      folder: bench.job,
      scratch: bench.scratch.path
    ).wait(limit)
  }

  /// The tasks of an array that have not ended: `1 R`, `2 PD`.
  package func tasks(of array: String) async throws -> [(index: String, state: String)] {
    let end = try await command(["squeue", "--noheader", "--array", "--format=%K %t", "--jobs=" + array])
    // No answer is not the end of all tasks.
    guard end.status == 0 else { throw TestFault("squeue: \(end.errors)") }
    return end.output.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      return words.count == 2 ? (words[0], words[1]) : nil
    }
  }

  /// What Slurm knows of a job: `JobState`, `ExitCode`, `Restarts`.
  package func facts(of job: String) async throws -> [String: String] {
    let words = try await command(["scontrol", "--oneliner", "show", "job", job]).output.split(separator: " ")
    return words.reduce(into: [:]) { facts, word in
      let pair = word.split(separator: "=", maxSplits: 1).map(String.init)
      if pair.count == 2, facts[pair[0]] == nil { facts[pair[0]] = pair[1] }
    }
  }
}
