import Foundation
import Synchronization

/// Everything that one end-to-end test has: folders, servers, a job, and haul to run it.
///
/// `job/` has the manifest and the destinations, `served/` is what servers offer, `state/` is haul's.
package final class Bench: Sendable {
  package let scratch: Scratch
  package let job: String
  package let served: String
  package let state: String
  /// Lives as long as the bench: servers must not end with their last mention in a test.
  private let servers = Mutex<[Running]>([])

  package init() throws {
    scratch = try Scratch()
    job = try scratch.folder("job")
    served = try scratch.folder("served")
    state = try scratch.folder("state")
  }

  /// A program's environment: no proxy, no home of the user's, only what the test gives.
  package func environment(_ more: [String: String] = [:]) -> [String: String] {
    ["PATH": "/usr/bin:/bin:/usr/sbin", "HOME": scratch.path, "LANG": "C.UTF-8"].merging(more) { $1 }
  }

  /// Starts a server that ends with the bench.
  func serve(
    _ program: String, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil
  ) throws -> Running {
    let server = try Running(
      program, arguments, environment: self.environment(environment), folder: folder ?? scratch.path,
      scratch: scratch.path)
    servers.withLock { $0.append(server) }
    return server
  }

  /// Makes a file that servers offer.
  @discardableResult
  package func serve(_ name: String, size: Int, seed: UInt64 = 1) throws -> String {
    try SeededFile.make(served + "/" + name, size: size, seed: seed)
    return served + "/" + name
  }

  /// Makes a file in the job's folder.
  @discardableResult
  package func source(_ name: String, size: Int, seed: UInt64 = 1) throws -> String {
    try SeededFile.make(job + "/" + name, size: size, seed: seed)
    return job + "/" + name
  }

  package func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: job + "/" + name) }

  /// Names of the part files below the job's folder.
  package func parts() -> [String] {
    (FileManager.default.enumerator(atPath: job)?.compactMap { $0 as? String } ?? []).filter {
      $0.hasSuffix(".haul-part")
    }
  }

  /// Whether a file of the job's folder has the bytes of one that was served.
  package func isSame(_ local: String, _ remote: String) throws -> Bool {
    let mine = try Sums.file(job + "/" + local)
    return try mine != nil && mine == Sums.file(served + "/" + remote)
  }

  package func writeJob(_ yaml: String, as name: String = "job.yaml") throws {
    try Data(yaml.utf8).write(to: URL(fileURLWithPath: job + "/" + name))
  }

  /// Starts haul in the job's folder, with this test's state folder.
  package func start(_ arguments: [String], environment: [String: String] = [:]) throws -> Running {
    try Running(
      Programs.haul, arguments + ["--state-dir", state], environment: self.environment(environment),
      folder: job,
      scratch: scratch.path)
  }

  package func haul(
    _ arguments: [String], environment: [String: String] = [:], limit: Duration = .seconds(60)
  ) async throws -> Finished {
    try await start(arguments, environment: environment).wait(limit)
  }

  /// What `haul run` is started with, its report at a known place.
  package func runArguments(_ options: [String] = [], manifest: String = "job.yaml") -> [String] {
    ["run", manifest, "--report", reportPath, "--no-progress"] + options
  }

  package var reportPath: String { scratch.path + "/report.json" }

  /// Writes the manifest, if one is given, runs it, and takes in the report, which must be valid.
  package func run(
    _ yaml: String? = nil, _ options: [String] = [], environment: [String: String] = [:],
    limit: Duration = .seconds(90)
  ) async throws -> HaulRun {
    if let yaml { try writeJob(yaml) }
    try? FileManager.default.removeItem(atPath: reportPath)
    let end = try await start(runArguments(options), environment: environment).wait(limit)
    return try await HaulRun(end, reportPath: reportPath)
  }
}

/// A string as YAML takes it in any place: quoted, as JSON has it.
package func quoted(_ text: String) -> String {
  "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
}
