import Foundation

extension Bench {
  /// Runs haul through another program: in a namespace of its own, with another file in a place.
  package func run(
    through wrapper: [String], _ yaml: String, _ options: [String] = [], environment: [String: String] = [:],
    limit: Duration = .seconds(90)
  ) async throws -> HaulRun {
    try writeJob(yaml)
    return try await HaulRun(
      try await start(through: wrapper, runArguments(options), environment: environment).wait(limit),
      reportPath: reportPath)
  }

  package func start(
    through wrapper: [String], _ arguments: [String], environment: [String: String] = [:]
  ) throws -> Running {
    try Running(
      wrapper[0], Array(wrapper.dropFirst()) + [Programs.haul] + arguments + ["--state-dir", state],
      environment: self.environment(environment), folder: job, scratch: scratch.path)
  }

  /// Becomes the program that follows, with this text as /etc/hosts. For root only.
  package func withHosts(_ text: String) throws -> [String] {
    let file = try scratch.write("hosts-\(UUID().uuidString.prefix(6))", text)
    return [
      "unshare", "-m", "--propagation", "private", "sh", "-c",
      "mount --bind \(file) /etc/hosts && exec \"$@\"", "--",
    ]
  }
}
