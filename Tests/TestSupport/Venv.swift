import Foundation

/// The Python packages that the tests run against, as `Scripts/setup` installs them.
package enum Venv {
  /// - Throws: `TestFault` where it is not there.
  package static func python() throws -> String {
    let path = Programs.root + "/.build/venv/bin/python"
    guard access(path, X_OK) == 0 else { throw TestFault("`\(path)` is missing: run Scripts/setup") }
    return path
  }

  /// Runs a script and gives what it prints.
  package static func run(
    _ script: String, _ arguments: [String] = [], environment: [String: String] = [:]
  ) async throws -> String {
    let scratch = try Scratch()
    let file = try scratch.write("script.py", script)
    let run = try Running(
      python(), [file] + arguments,
      environment: ["PATH": "/usr/bin:/bin", "HOME": scratch.path].merging(environment) { $1 },
      folder: scratch.path, scratch: scratch.path)
    let end = try await run.wait(.seconds(240))
    guard end.status == 0 else { throw TestFault("a script ended with \(end.status): \(end.errors)") }
    return end.output
  }
}
