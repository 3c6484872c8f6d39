import Foundation

/// A back end that hands out signed URLs for the parts of an upload, and the store behind it on a port of its own,
/// written from the uploader's contract (wire facts, B) and strict about it.
package final class PresignedServer: Sendable {
  /// The back end; `/api` is the endpoint's URL.
  package let url: String
  private let process: Running
  private let logPath: String
  /// Completed objects, by key below it.
  package let objects: String
  private let scratch: Scratch

  /// - Parameters:
  ///   - token: the one that counts; where there are two, the second counts after `tokenEnds` requests.
  ///   - options: JSON members: `partSize`, `ttl` (seconds of a URL), `etag` (md5, opaque), `rate` (bytes a second),
  ///     `damage` (parts that are stored wrong once), `lose` (answers to complete that are lost), `losePart` (completes that
  ///     lack a part), `forget` (the upload is forgotten after so many parts), `completeStatus`.
  package init(_ bench: Bench, token: String, options: String = "") async throws {
    let stem = bench.scratch.path + "/presigned-\(UUID().uuidString.prefix(6))"
    scratch = bench.scratch
    logPath = stem + ".log"
    objects = stem + "-objects"
    try FileManager.default.createDirectory(atPath: objects, withIntermediateDirectories: true)
    try Data((PythonParts.server + PythonParts.rangedHandler + Self.script).utf8).write(
      to: URL(fileURLWithPath: stem + ".py"))
    try Data("{\(options)}".utf8).write(to: URL(fileURLWithPath: stem + ".json"))
    process = try bench.serve(
      Programs.python, ["-u", stem + ".py", objects, logPath, stem + ".json", bench.served],
      environment: ["API_TOKEN": token], folder: bench.served)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Its requests: `what` (start, urls, part, complete, get, …), `status`, `bytes`, `part`, `parts`, `headers`.
  package func log() -> [JSON] { JSON.lines(logPath) }
}
