import Glibc

@testable import DepotServer

/// A folder for one test, a depot over it, and a client.
struct Fixture: Sendable {
  let root: String
  let depot: Depot
  var client: RawClient

  /// Runs `body` with a fresh depot and removes everything afterwards.
  static func run(
    faults: String? = nil, _ adjust: (inout DepotOptions) -> Void = { _ in },
    _ body: (Fixture) async throws -> Void
  ) async throws {
    var template = Array("/tmp/depot-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError("create a test's folder") }
    let root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { remove(root) }
    var options = DepotOptions(root: root + "/root")
    mkdir(options.root, 0o755)
    options.port = 0
    if let faults {
      options.faults = root + "/faults.json"
      write(root + "/faults.json", Array(faults.utf8))
    }
    adjust(&options)
    try await restart(options, body)
  }

  /// Runs `body` with a depot over a folder that exists.
  static func restart(_ options: DepotOptions, _ body: (Fixture) async throws -> Void) async throws {
    let depot = try await Depot.start(options)
    do {
      try await body(
        Fixture(root: options.root, depot: depot, client: RawClient(port: depot.port, token: options.token)))
    } catch {
      await depot.stop(grace: .milliseconds(100))
      throw error
    }
    await depot.stop(grace: .milliseconds(100))
  }

  func put(_ name: String, _ content: [UInt8]) { Self.write(root + "/" + name, content) }
  func read(_ name: String) -> [UInt8]? { Disk.read(root + "/" + name) }

  static func write(_ path: String, _ content: [UInt8]) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    try? Disk.writeAll(descriptor, content)
    close(descriptor)
  }

  static func remove(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    if status.st_mode & S_IFMT == S_IFDIR {
      for name in Disk.list(path) { remove(path + "/" + name) }
      rmdir(path)
    } else {
      unlink(path)
    }
  }

  /// Bytes that repeat nowhere near.
  static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed
    return (0..<count).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
  }

  static func sha256(_ bytes: some Collection<UInt8>) -> String {
    let stream = SHA256Stream()
    Array(bytes).withUnsafeBytes { stream.update($0) }
    return Hex.encode(stream.finish())
  }

  /// Creates a session and returns its id.
  func create(
    _ name: String, _ content: [UInt8], chunk: Int, hash: String? = nil, resumeFrom: String? = nil
  ) async throws -> String {
    var json = "{\"fileName\":\"\(name)\",\"fileSize\":\(content.count),\"chunkSize\":\(chunk)"
    if let hash { json += ",\"fileHashSha256\":\"\(hash)\"" }
    if let resumeFrom { json += ",\"resumeFrom\":\"\(resumeFrom)\"" }
    let reply = try await client.send("POST", "/uploads/sessions", body: Array((json + "}").utf8))
    return reply?.field("sessionId") ?? "no session: \(reply?.text ?? "no answer")"
  }

  /// Sends chunk `index` of `content`; `byRange` uses the form without an index.
  @discardableResult
  func send(
    _ session: String, _ index: Int, of content: [UInt8], chunk: Int, byRange: Bool = false,
    extra: [String: String] = [:], hash: String? = nil, sendOnly: Int? = nil
  ) async throws -> Reply? {
    let part = Array(content[index * chunk..<min(content.count, (index + 1) * chunk)])
    let range = "bytes \(index * chunk)-\(index * chunk + part.count - 1)/\(content.count)"
    let headers = ["Content-Range": range, "X-Chunk-Hash": "sha256=\(hash ?? Self.sha256(part))"]
    return try await client.send(
      "PUT", "/uploads/sessions/\(session)/chunks" + (byRange ? "" : "/\(index)"),
      headers.merging(extra) { _, new in new }, body: part, sendOnly: sendOnly)
  }

  func finalize(_ session: String, hash: String? = nil) async throws -> Reply? {
    let json = hash.map { "{\"fileHashSha256\":\"\($0)\"}" } ?? ""
    return try await client.send("POST", "/uploads/sessions/\(session)/finalize", body: Array(json.utf8))
  }

  func received(_ session: String) async throws -> [Int] {
    try await client.send("GET", "/uploads/sessions/\(session)")?.numbers("receivedChunks") ?? [-1]
  }
}
