import Digests
import Endpoints
import Foundation
import JobModel
import Synchronization

/// A web server in memory: `/f/NAME` are files with ranges, `/api` is the chunk-session API.
final class FakeServer: Sendable {
  struct State {
    var files: [String: [UInt8]] = [:]
    var tags: [String: String] = [:]
    var sessions: [String: Session] = [:]
    var servesRanges = true
    var givesTags = true
    var givesDigests = true
    var givesLength = true
    var maxChunk: Int64?
    /// The limit is told of chunks alone, and not when a session is opened.
    var limitsChunksLate = false
    var opened = 0
    var deleted: [String] = []
    var expiresAt: Double?
  }
  struct Session {
    var name: String
    var size: Int
    var chunkSize: Int
    var chunks: [Int: [UInt8]] = [:]
  }
  let state: Mutex<State>

  init(_ change: (inout State) -> Void = { _ in }) {
    var initial = State()
    change(&initial)
    state = Mutex(initial)
  }

  func file(_ name: String) -> [UInt8]? { state.withLock { $0.files[name] } }
  func put(_ name: String, _ bytes: [UInt8], tag: String) {
    state.withLock {
      $0.files[name] = bytes
      $0.tags[name] = tag
    }
  }

  func response(_ sent: Sent) -> Reply {
    state.withLock { state in
      let parts = sent.path.split(separator: "/").map { WebURL.decode($0) }
      if parts.count >= 2, parts[0] == "f" { return Self.serve(parts[1], sent, state) }
      guard parts.count >= 3, parts[0] == "api" else { return .status(404) }
      if parts[1] == "files" {
        guard parts.last == "meta" else { return Self.serve(parts[2], sent, state) }
        guard let bytes = state.files[parts[2]] else { return .status(404) }
        let digest = Self.sha256(bytes)
        return .status(
          200, [:], #"{"size":\#(bytes.count),"sha256":"\#(digest)","etag":"\"\#(digest.prefix(8))\""}"#)
      }
      return Self.session(Array(parts.dropFirst(3)), sent, &state)
    }
  }

  private static func serve(_ name: String, _ sent: Sent, _ state: State) -> Reply {
    guard let bytes = state.files[name] else { return .status(404) }
    var headers: HeaderList = ["Content-Type": "text/plain"]
    let tag = state.tags[name] ?? "\"\(sha256(bytes).prefix(8))\""
    if state.givesTags { headers.append("ETag", tag) }
    if state.givesDigests, let digest = Hex.decode(sha256(bytes)) {
      headers.append("Repr-Digest", "sha-256=:\(Base64.encode(digest)):")
    }
    let isCurrent = sent.headers["If-Range"].map { $0 == tag } ?? true
    if state.servesRanges, isCurrent, let range = sent.headers["Range"]?.dropFirst(6).split(separator: "-"),
      let first = Int(range[0]), let last = Int(range[1])
    {
      guard first < bytes.count else { return .status(416, ["Content-Range": "bytes */\(bytes.count)"]) }
      let end = min(bytes.count, last + 1)
      headers.append("Content-Range", "bytes \(first)-\(end - 1)/\(bytes.count)")
      return Reply(status: 206, headers: headers, body: Array(bytes[first..<end]))
    }
    if state.givesLength { headers.append("Content-Length", String(bytes.count)) }
    return Reply(status: 200, headers: headers, body: bytes)
  }

  private static func session(_ parts: [String], _ sent: Sent, _ state: inout State) -> Reply {
    let members = (try? JSONSerialization.jsonObject(with: Data(sent.body))) as? [String: Any] ?? [:]
    if parts.isEmpty, sent.method == "POST" {
      guard let name = members["fileName"] as? String, let size = members["fileSize"] as? Int,
        let chunk = members["chunkSize"] as? Int
      else { return .status(400) }
      if let limit = state.maxChunk, chunk > limit, !state.limitsChunksLate {
        return .status(413, [:], #"{"maxChunkSize":\#(limit)}"#)
      }
      state.opened += 1
      let id = "s\(state.opened)"
      state.sessions[id] = Session(name: name, size: size, chunkSize: chunk)
      if let old = members["resumeFrom"] as? String, let before = state.sessions[old] {
        state.sessions[id]?.chunks = before.chunks
      }
      let expiry = state.expiresAt.map { #","expiresAt":\#($0)"# } ?? ""
      return .status(201, [:], #"{"sessionId":"\#(id)","chunkSize":\#(chunk)\#(expiry)}"#)
    }
    guard let id = parts.first, let session = state.sessions[id] else {
      return .status(404, [:], #"{"code":"SESSION_EXPIRED"}"#)
    }
    switch (sent.method, parts.count > 1 ? parts[1] : "") {
    case ("GET", ""):
      let held = session.chunks.keys.sorted().map(String.init).joined(separator: ",")
      return .status(
        200, [:],
        #"{"receivedChunks":[\#(held)],"fileSize":\#(session.size),"chunkSize":\#(session.chunkSize)}"#)
    case ("DELETE", ""):
      state.sessions[id] = nil
      state.deleted.append(id)
      return .status(204)
    case ("PUT", "chunks"):
      if let limit = state.maxChunk, sent.body.count > limit {
        return .status(413, [:], #"{"code":"CHUNK_TOO_LARGE","maxChunkSize":\#(limit)}"#)
      }
      guard let index = Int(parts[2]), sent.headers["X-Chunk-Hash"] == "sha256=" + sha256(sent.body) else {
        return .status(422, [:], #"{"code":"CHUNK_HASH_MISMATCH"}"#)
      }
      let (start, end) = (index * session.chunkSize, index * session.chunkSize + sent.body.count)
      guard sent.headers["Content-Range"] == "bytes \(start)-\(end - 1)/\(session.size)" else {
        return .status(400)
      }
      if let there = session.chunks[index], there != sent.body {
        return .status(409, [:], #"{"code":"CHUNK_CONFLICT"}"#)
      }
      state.sessions[id]?.chunks[index] = sent.body
      return .status(200)
    case ("POST", "finalize"):
      let count = (session.size + session.chunkSize - 1) / session.chunkSize
      let missing = (0..<count).filter { session.chunks[$0] == nil }.map(String.init)
      guard missing.isEmpty else {
        return .status(409, [:], #"{"code":"CHUNKS_MISSING","missing":[\#(missing.joined(separator: ","))]}"#)
      }
      let bytes = (0..<count).flatMap { session.chunks[$0] ?? [] }
      if let hash = members["fileHashSha256"] as? String, hash != sha256(bytes) {
        return .status(
          422, [:], #"{"code":"INTEGRITY_MISMATCH","expected":"\#(hash)","actual":"\#(sha256(bytes))"}"#)
      }
      state.files[session.name] = bytes
      state.files["id-\(id)"] = bytes
      state.sessions[id] = nil
      return .status(201, [:], #"{"remoteFileId":"id-\#(id)","fileHashSha256":"\#(sha256(bytes))"}"#)
    default: return .status(405)
    }
  }

  static func sha256(_ bytes: [UInt8]) -> String { (try? Digest.hex(of: bytes, .sha256)) ?? "" }
}
