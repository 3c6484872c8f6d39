import Foundation

/// The project's own server, as a process.
package final class Depot: Sendable {
  package let url: String
  package let process: Running
  private let logPath: String
  /// Keeps the log's folder.
  private let scratch: Scratch

  /// - Parameters:
  ///   - faults: the rules of its fault file, as JSON objects.
  ///   - port: a port that it must have again after a restart.
  package init(
    _ bench: Bench, faults: [String] = [], options: [String] = [], environment: [String: String] = [:],
    port: Int = 0
  ) async throws {
    scratch = bench.scratch
    logPath = bench.scratch.path + "/depot.log"
    var arguments =
      ["--root", bench.served, "--listen", "127.0.0.1:\(port)", "--access-log", logPath] + options
    if !faults.isEmpty {
      arguments += [
        "--faults", try bench.scratch.write("faults.json", "[" + faults.joined(separator: ",\n") + "]"),
      ]
    }
    process = try bench.serve(Programs.depot, arguments, environment: environment)
    url = try await Loopback.announced(process, after: "listening on ")
  }

  /// Rules for a fault file: bodies go at so many bytes a second, either way.
  package static func slow(_ rate: Int) -> [String] {
    [
      "{\"match\": {\"method\": \"GET\", \"path\": \"/files/*\"}, \"action\": {\"rate\": \(rate)}}",
      "{\"match\": {\"method\": \"PUT\"}, \"action\": {\"uploadRate\": \(rate)}}",
    ]
  }

  package var port: Int { Int(url.split(separator: ":").last ?? "") ?? 0 }

  /// The endpoint's line in a manifest.
  package var endpoint: String { "{ type: session, url: \(quoted(url)) }" }

  /// Waits until the log has been written to its end, and gives its requests.
  package func log() async throws -> [Visit] {
    var count = -1
    for _ in 0..<50 {
      let lines = JSON.lines(logPath)
      if lines.count == count { return lines.map(Visit.init) }
      count = lines.count
      try await Task.sleep(for: .milliseconds(30))
    }
    return JSON.lines(logPath).map(Visit.init)
  }
}

/// A request in depot's access log.
package struct Visit: Sendable {
  package let line: JSON
  package init(_ line: JSON) { self.line = line }

  package var method: String { line["method"].string ?? "" }
  package var path: String { line["path"].string ?? "" }
  package var status: Int64? { line["status"].int }
  package var sent: Int64 { line["bytes_out"].int ?? 0 }
  package var received: Int64 { line["bytes_in"].int ?? 0 }

  /// A GET of a file's bytes.
  package var isDownload: Bool { method == "GET" && path.contains("/files/") && !path.hasSuffix("/meta") }
  /// A chunk of an upload.
  package var isChunk: Bool { method == "PUT" && path.contains("/chunks") }
  package var isCreate: Bool { method == "POST" && path.hasSuffix("/sessions") }
  package var isFinalize: Bool { method == "POST" && path.hasSuffix("/finalize") }

  /// The first byte's place in the file, of a ranged answer or a chunk.
  package var offset: Int64? { bounds?.first }
  package var lastOffset: Int64? { bounds?.last }

  private var bounds: (first: Int64, last: Int64)? {
    guard let text = line["content_range"].string ?? line["range"].string else { return nil }
    let numbers = text.split { !$0.isNumber }.compactMap { Int64($0) }
    return numbers.count >= 2 ? (numbers[0], numbers[1]) : nil
  }
}

extension [Visit] {
  package var downloads: [Visit] { filter(\.isDownload) }
  package var chunks: [Visit] { filter(\.isChunk) }
  /// Bytes of bodies that were files' or chunks' bytes, either way.
  package var moved: Int64 { downloads.reduce(0) { $0 + $1.sent } + chunks.reduce(0) { $0 + $1.received } }
}
