import Foundation

/// Takes requests down in one log, and answers as their paths say.
package final class ReceivingServer: Sendable {
  package struct Request: Sendable {
    package var method: String
    package var path: String
    package var headers: JSON
    package var body: String
    /// 0 where none was given.
    package var status: Int
    /// The first of its key that was taken.
    package var isTaken: Bool
    package var key: String { headers["idempotency-key"].string ?? "" }
    package var isOfFile: Bool { path.hasPrefix("/files/") }
  }

  package let url: String
  private let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  private init(_ bench: Bench, _ name: String, _ script: String) async throws {
    scratch = bench.scratch
    logPath = bench.scratch.path + "/\(name)-\(UUID().uuidString.prefix(6)).log"
    let path = try bench.scratch.write(name + ".py", PythonParts.server + script)
    process = try bench.serve(Programs.python, ["-u", path, logPath, bench.served])
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Takes notices. The path says how it answers: `/500`, `/404`, `/hang`, `/slow`, `/close`, `/redirect`, `/moody` (by turns
  /// 500, a hang, a close, 200); anything else is fine. While it is given a status, it is down: 503, and nothing in the log.
  package static func ofNotices(_ bench: Bench) async throws -> ReceivingServer {
    try await ReceivingServer(bench, "hooks", hooks)
  }

  /// Serves and takes files below `/files/`, and what ties them to records anywhere else.
  ///
  /// The first part of such a path says how it answers: `/500`, `/404`; `/late` (after a second), `/hang`, `/close` (taken,
  /// and not answered), `/moody` (all of these by turns); anything else is fine. A key that it has taken is answered well from
  /// then on, but by `/NNN`. While it is given a status, that is the answer to all.
  package static func ofRecords(_ bench: Bench) async throws -> ReceivingServer {
    try await ReceivingServer(
      bench, "records", "import json, os, sys, threading\n" + PythonParts.rangedHandler + records)
  }

  /// Answers so from now on, or as its paths say again.
  package func answers(_ status: Int?) throws {
    let url = URL(fileURLWithPath: logPath + ".status")
    if let status {
      try Data("\(status)".utf8).write(to: url, options: .atomic)
    } else {
      try FileManager.default.removeItem(at: url)
    }
  }

  /// All requests so far, in their order.
  package func requests() throws -> [Request] {
    try String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self)
      .split(separator: "\n").map { line in
        let json = try JSON.parse(String(line))
        return Request(
          method: json["method"].string ?? "", path: json["path"].string ?? "", headers: json["headers"],
          body: json["body"].string ?? "", status: Int(json["status"].int ?? 0),
          isTaken: json["taken"].bool ?? false)
      }
  }

  /// Those that tie files.
  package func attaches() throws -> [Request] { try requests().filter { !$0.isOfFile } }
}
