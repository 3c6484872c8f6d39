import Foundation

/// A small S3 that refuses what AWS refuses: signatures, checksums, part sizes, conditions; with faults on demand.
package final class StrictS3: Sendable {
  package let url: String
  package let process: Running
  private let configPath: String
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  package static let id = "AKIDSTRICT"
  package static let secret = "wJalr/strict+secret/KEY"

  /// - Parameter config: members of its settings besides `keys`, as JSON: `faults`, `page`, `pause` (seconds
  ///   a request takes), `rate`, `region`, `roles`, `skew`.
  package init(_ bench: Bench, config: [String] = [], keys: String? = nil) async throws {
    let stem = bench.scratch.path + "/strict-\(UUID().uuidString.prefix(6))"
    scratch = bench.scratch
    (configPath, logPath) = (stem + ".json", stem + ".log")
    try Data(Self.script.utf8).write(to: URL(fileURLWithPath: stem + ".py"))
    try Self.write(config, keys, to: configPath)
    process = try bench.serve(try Venv.python(), ["-u", stem + ".py", configPath, logPath])
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Gives it other settings, from the next request on.
  package func set(_ config: [String], keys: String? = nil) throws {
    try Self.write(config, keys, to: configPath)
  }

  private static func write(_ config: [String], _ keys: String?, to path: String) throws {
    let keys = keys ?? "{\"\(id)\": {\"secret\": \"\(secret)\"}}"
    let text = "{" + (["\"keys\": \(keys)"] + config).joined(separator: ", ") + "}"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  /// Its endpoint in a manifest; `more` are further keys.
  package func endpoint(_ more: String = "", auth: String? = nil) -> String {
    let auth = auth ?? "{ aws: { env: true } }"
    return "{ type: s3, url: \(quoted(url)), bucket: bkt, auth: \(auth)\(more.isEmpty ? "" : ", " + more) }"
  }

  package static let environment = ["AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secret]

  package func log() -> [S3Visit] { JSON.lines(logPath).map(S3Visit.init) }
  package var logText: String {
    String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self)
  }
}

/// A request in the fake's log.
package struct S3Visit: Sendable {
  package let line: JSON
  package init(_ line: JSON) { self.line = line }

  /// `create`, `part`, `copypart`, `copy`, `parts`, `complete`, `abort`, `put`, `get`, `tags`, `head` or `list`.
  package var op: String { line["op"].string ?? "" }
  package var status: Int64 { line["status"].int ?? 0 }
  package var received: Int64 { line["in"].int ?? 0 }
  package var sent: Int64 { line["out"].int ?? 0 }
  package var key: String { line["key"].string ?? "" }
  package var part: Int? { line["part"].string.flatMap { Int($0) } }
  /// The parts that an answer to `parts` named.
  package var listed: [Int] { line["listed"].array.compactMap { $0.int.map { Int($0) } } }
  /// Seconds since 1970.
  package var begun: Double { line["begun"].double ?? 0 }
  package var ended: Double { line["ended"].double ?? 0 }
  /// Requests that the store had before it when this one came, itself included.
  package var flight: Int { Int(line["flight"].int ?? 0) }
  package var upload: String { line["upload"].string ?? "" }
  /// SHA-256 of the object that this request put in place.
  package var published: String? { line["sha256"].string }
  package var who: String { line["who"].string ?? "" }
  package func header(_ name: String) -> String? { line["headers"][name].string }
}
