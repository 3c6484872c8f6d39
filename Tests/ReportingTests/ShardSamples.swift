import Foundation
import JobModel

/// Reports of parts as files, removed with the value.
final class ShardSamples {
  let folder: String
  private var number = 0

  init() throws {
    folder = NSTemporaryDirectory() + "haul-merge-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func write(_ text: String) throws -> String {
    number += 1
    let path = folder + "/\(number).json"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// A transfer as a part's report has it.
  static func transfer(
    _ ordinal: Int, _ id: String, state: String = "completed", reason: JSON = .null, policy: String = "p1",
    capabilities: String = "c1", error: JSON = .null
  ) -> JSON {
    [
      "id": .string(id), "ordinal": .int(ordinal), "state": .string(state), "reason": reason,
      "url": .string("http://host.example/\(id)"), "policy": ["ref": .string(policy)],
      "capabilities": .string(capabilities), "attempts": .int(1), "error": error,
    ]
  }

  static func error(_ message: String, code: String = "NOT_FOUND") -> JSON {
    ["code": .string(code), "message": .string(message), "retryable": .bool(false)]
  }

  /// The report of a part.
  static func report(
    _ index: Int, of count: Int, _ transfers: [JSON], exitCode: Int = 0, state: String = "completed",
    changed: [JSON.Member] = [], policies: JSON = ["p1": ["transfers": "auto"]],
    capabilities: JSON = ["c1": ["protocol": "http"]], run more: [JSON.Member] = []
  ) -> JSON {
    let failed = transfers.count { $0["state"].string == "failed" }
    let run: [JSON.Member] = [
      .init("id", .string("01RUN\(index)")), .init("number", .int(1)), .init("attempt", .int(index)),
      .init("started_at", .string("2026-01-01T00:00:0\(index).000Z")),
      .init("ended_at", .string("2026-01-01T00:01:0\(index).000Z")), .init("duration_s", .int(60)),
      .init("outcome", .string(exitCode == 0 ? "completed" : "failed")), .init("exit_code", .int(exitCode)),
      .init("host", .string("node-\(index)")), .init("shard", ["index": .int(index), "count": .int(count)]),
      .init(
        "attempts",
        .array([
          [
            "number": .int(1), "started_at": .string("2026-01-01T00:00:0\(index).000Z"),
            "ended_at": .string("2026-01-01T00:01:0\(index).000Z"), "exit_code": .int(exitCode),
            "bytes_transferred": .int(10),
          ]
        ])),
    ]
    var members: [JSON.Member] = [
      .init("schema", "haul.report/v1"), .init("tool", ["name": "haul", "version": "0.0.1"]),
      .init(
        "job",
        [
          "name": "nightly", "state": .string(state), "manifest": "job.yaml",
          "manifest_sha256": .string(String(repeating: "ab", count: 32)), "description": .null,
          "bandwidth": .null,
          "limits": .null, "hosts": .array([]),
        ]),
      .init("run", .object(run.map { one in more.first { $0.name == one.name } ?? one })),
      .init(
        "totals",
        [
          "transfers": .int(transfers.count), "completed": .int(transfers.count - failed),
          "up_to_date": .int(0),
          "failed": .int(failed), "paused": .int(0), "canceled": .int(0), "queued": .int(0),
          "skipped": .int(0),
          "bytes": ["planned": .int(10), "transferred": .int(10), "reused": .int(0), "discarded": .int(1)],
          "requests": .int(2), "retries": .int(0),
        ]),
      .init(
        "diagnostics", .array([["severity": "warning", "message": "alike", "place": .null, "hint": .null]])),
      .init("notices", .array([])), .init("causes", .array([])),
      .init("left_manifest", ["count": .int(1), "ids": .array([.string("gone-\(index)")])]),
      .init("selection", .null), .init("transfers_scope", "all"), .init("transfers", .array(transfers)),
      .init("policies", policies), .init("capabilities", capabilities),
    ]
    for member in changed {
      members = members.map { $0.name == member.name ? member : $0 }
    }
    return .object(members)
  }
}

extension JSON {
  /// On many lines.
  var pretty: String {
    var bytes: [UInt8] = []
    write(to: &bytes, indent: 0)
    return String(decoding: bytes, as: UTF8.self)
  }
}
