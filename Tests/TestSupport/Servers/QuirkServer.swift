import Foundation

/// A server with a manner of its own by the first part of the path: `/chunked/FILE`, `/nohead/FILE`, and so on.
package final class QuirkServer: Sendable {
  package let url: String
  private let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  /// - Parameter other: where `/elsewhere/FILE` redirects to: another server's URL.
  package init(_ bench: Bench, other: String = "") async throws {
    let stem = bench.scratch.path + "/quirks-\(UUID().uuidString.prefix(6))"
    scratch = bench.scratch
    logPath = stem + ".log"
    try Data((PythonParts.server + Self.script).utf8).write(to: URL(fileURLWithPath: stem + ".py"))
    process = try bench.serve(
      Programs.python, ["-u", stem + ".py", bench.served, logPath, other], folder: bench.served)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Its requests: method, path, headers (names in lower case).
  package func log() -> [JSON] { JSON.lines(logPath) }
}
