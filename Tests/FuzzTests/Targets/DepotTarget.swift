import DepotServer
import Foundation
import Glibc
import JobModel

/// `METHOD TARGET`, header lines, an empty line and a body, sent to a depot on loopback. `SESSION` in the target is a
/// session that is open: 100 bytes in chunks of 10, two of which are there.
enum DepotTarget {
  static func run(_ bytes: [UInt8]) throws {
    let message = Message(bytes)
    guard message.start.count >= 2 else { return }
    let bench = bench
    var target = message.start[1]
    if target.contains("SESSION") { target = target.replacing("SESSION", with: try session(bench)) }
    let reply = try exchange(message.start[0], target, message.fields, message.body, bench)
    if let id = created(reply), id != open {
      _ = try exchange("DELETE", "/uploads/sessions/\(id)", [], [], bench)
    }
    // What is no HTTP is refused before it is read, and the refusal may be lost with the connection.
    if reply.isEmpty, !isHTTP(message) { return }
    let text = String(decoding: reply, as: UTF8.self)
    try require(text.hasPrefix("HTTP/1.1 "), "no answer: \(text.prefix(80))")
    let status = Int(text.dropFirst(9).prefix(3)) ?? 0
    try require((100...599).contains(status), "status \(status)")
    try require(status != 500, "an internal error: \(text)")
    try require(!text.contains("outside the root"), "a file outside the root was served")
    try require(!text.contains("depot's own state"), "depot's own state was served")
  }

  private struct Bench: Sendable {
    var depot: Depot
  }

  private static let bench: Bench = {
    var template = Array("/tmp/haul-fuzz-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("no folder: errno \(errno)") }
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    scratch = folder
    atexit { try? FileManager.default.removeItem(atPath: DepotTarget.scratch) }
    let root = folder + "/root"
    do {
      let files = FileManager.default
      try files.createDirectory(atPath: root + "/in", withIntermediateDirectories: true)
      try Data("outside the root".utf8).write(to: URL(fileURLWithPath: folder + "/secret"))
      try Data((0..<100).map { UInt8($0) }).write(to: URL(fileURLWithPath: root + "/a"))
      try Data().write(to: URL(fileURLWithPath: root + "/empty"))
      try Data("named meta".utf8).write(to: URL(fileURLWithPath: root + "/in/meta"))
      try files.createSymbolicLink(atPath: root + "/out", withDestinationPath: "../secret")
      try files.createSymbolicLink(atPath: root + "/up", withDestinationPath: "..")
      try files.createSymbolicLink(atPath: root + "/state", withDestinationPath: ".depot")
    } catch {
      fatalError("\(error)")
    }
    var options = DepotOptions(root: root)
    options.port = 0
    options.maxChunk = 4096
    let depot = start(options)
    try? Data("depot's own state".utf8).write(to: URL(fileURLWithPath: root + "/.depot/secret"))
    return Bench(depot: depot)
  }()

  nonisolated(unsafe) private static var scratch = ""

  private static func isHTTP(_ message: Message) -> Bool {
    ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"].contains(message.start[0])
      && message.start[1].utf8.first == UInt8(ascii: "/")
      && message.start[1].utf8.allSatisfy { (33...126).contains($0) }
      && message.fields.allSatisfy { field in
        HeaderSetting.isToken(field.name) && field.value.utf8.allSatisfy { (32...126).contains($0) }
      }
  }

  /// The fuzzer's own thread waits; depot runs on others.
  private static func start(_ options: DepotOptions) -> Depot {
    let started = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var depot: Depot?
    Task.detached {
      do { depot = try await Depot.start(options) } catch { fatalError("\(error)") }
      started.signal()
    }
    started.wait()
    guard let depot else { fatalError("no depot") }
    return depot
  }

  /// A session that is open, made anew when an input has ended it.
  private static func session(_ bench: Bench) throws -> String {
    if let open {
      let reply = try exchange("GET", "/uploads/sessions/\(open)", [], [], bench)
      if reply.starts(with: "HTTP/1.1 200".utf8) { return open }
    }
    let create = #"{"fileName":"up.bin","fileSize":100,"chunkSize":10}"#
    let reply = try exchange("POST", "/uploads/sessions", [], Array(create.utf8), bench)
    let id = try require(created(reply), "no session: \(String(decoding: reply, as: UTF8.self))")
    for index in [0, 2] {
      let range = ("Content-Range", "bytes \(index * 10)-\(index * 10 + 9)/100")
      _ = try exchange(
        "PUT", "/uploads/sessions/\(id)/chunks/\(index)", [range], Array(repeating: 120, count: 10), bench)
    }
    open = id
    return id
  }

  nonisolated(unsafe) private static var open: String?

  private static func created(_ reply: [UInt8]) -> String? {
    let text = String(decoding: reply, as: UTF8.self)
    guard text.hasPrefix("HTTP/1.1 201"), let id = text.firstMatch(of: #/"sessionId":"([^"]+)"/#) else {
      return nil
    }
    return String(id.output.1)
  }

  /// One request over a connection of its own, as bytes; the answer, as bytes.
  private static func exchange(
    _ method: String, _ target: String, _ fields: [(name: String, value: String)], _ body: [UInt8],
    _ bench: Bench
  ) throws -> [UInt8] {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
    for field in fields where !ours.contains(field.name.lowercased()) {
      head += "\(field.name): \(field.value)\r\n"
    }
    if !body.isEmpty || method != "GET" { head += "Content-Length: \(body.count)\r\n" }
    return try Loopback.exchange(Array((head + "\r\n").utf8) + body, port: bench.depot.port)
  }

  /// What frames the message: another length would only make both sides wait.
  private static let ours: Set<String> = ["content-length", "transfer-encoding", "connection", "upgrade"]
}
