import Endpoints
import Foundation
import JobLedger
import JobModel
import Synchronization
import Testing
import Transfers

/// Uploads to a server that counts bytes and may keep a part of a chunk: one upload at `/files/1`, `/files/2`, ….
struct ByteOffsetTests {
  private let content = pattern(5_300)

  /// A tus server in memory: every upload's bytes, in order of creation.
  private final class Server: Sendable {
    let uploads = Mutex<[[UInt8]]>([])
    let deleted = Mutex<[Int]>([])

    func response(_ sent: Sent, keeping: Int? = nil) -> Reply {
      switch sent.method {
      case "OPTIONS": return .status(204, ["Tus-Version": "1.0.0", "Tus-Extension": "creation,termination"])
      case "POST":
        let count = uploads.withLock {
          $0.append([])
          return $0.count
        }
        return .status(201, ["Location": "/files/\(count)"])
      default: break
      }
      guard let number = sent.path.split(separator: "/").last.flatMap({ Int($0) }) else {
        return .status(404)
      }
      if sent.method == "DELETE" {
        deleted.withLock { $0.append(number) }
        return .status(204)
      }
      return uploads.withLock { uploads in
        let held = uploads[number - 1].count
        guard sent.method == "PATCH" else { return .status(200, ["Upload-Offset": String(held)]) }
        guard sent.headers["Upload-Offset"] == String(held) else { return .status(409) }
        uploads[number - 1] += sent.body.prefix(keeping ?? .max)
        if keeping != nil { return .broken() }
        return .status(204, ["Upload-Offset": String(uploads[number - 1].count)])
      }
    }

    var bytes: [[UInt8]] { uploads.withLock { $0 } }
  }

  private func rig() throws -> Rig {
    let rig = try Rig(.upload)
    try rig.write("src", content)
    return rig
  }

  private func offsets(_ outcome: Rig.Outcome) -> [String] {
    outcome.sent.filter { $0.method == "PATCH" }.compactMap { $0.headers["Upload-Offset"] }
  }

  @Test func inOrder() async throws {
    let (rig, server) = (try rig(), Server())
    let outcome = try await rig.run(from: "src", to: "tus:a") { server.response($0) }
    #expect(outcome.state == .completed, "\(String(describing: outcome.progress.failure))")
    #expect(offsets(outcome) == ["0", "1000", "2000", "3000", "4000", "5000"])
    #expect(server.bytes == [content] && outcome.progress.remoteID == "http://h/files/1")
    #expect(outcome.progress.chunksCompleted == 6 && outcome.progress.chunksTotal == 6)
  }

  /// What was kept of a broken chunk is not sent again.
  @Test func partOfAChunk() async throws {
    let (rig, server) = (try rig(), Server())
    let outcome = try await rig.run(from: "src", to: "tus:a") { sent in
      server.response(sent, keeping: sent.headers["Upload-Offset"] == "2000" ? 300 : nil)
    }
    #expect(outcome.state == .completed)
    #expect(offsets(outcome) == ["0", "1000", "2000", "2300", "3000", "4000", "5000"])
    #expect(server.bytes == [content])
    #expect(outcome.progress.transferred - outcome.progress.discarded == 5_300)
    let chunks = outcome.events.filter { if case .chunk = $0 { true } else { false } }
    #expect(chunks.count == 6, "a part of a chunk is no chunk")
  }

  /// Stopped with a part of a chunk at the server; then the source is as it was, or not.
  @Test(arguments: [false, true]) func resumedWithin(_ isTouched: Bool) async throws {
    let (rig, server) = (try rig(), Server())
    let first = try await rig.run(from: "src", to: "tus:a", stopAt: 5) { sent in
      server.response(sent, keeping: sent.headers["Upload-Offset"] == "2000" ? 300 : nil)
    }
    #expect(first.state == .paused(.interrupted))
    #expect(server.bytes.first?.count == 2_300)
    var wanted = content
    if isTouched {
      // Same size and modification time, another byte in what the server kept of the third chunk.
      wanted[2_100] ^= 1
      let path = rig.path + "/work/src"
      let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate]
      let file = try #require(FileHandle(forWritingAtPath: path))
      try file.seek(toOffset: 2_100)
      try file.write(contentsOf: [wanted[2_100]])
      try file.close()
      try FileManager.default.setAttributes([.modificationDate: date as Any], ofItemAtPath: path)
    }
    let second = try await rig.run(from: "src", to: "tus:a") { server.response($0) }
    #expect(second.state == .completed, "\(String(describing: second.progress.failure))")
    #expect(server.bytes.last == wanted)
    #expect(second.progress.transferred - second.progress.discarded == 5_300)
    if isTouched {
      #expect(server.bytes.count == 2 && server.deleted.withLock { $0 } == [1])
    } else {
      #expect(server.bytes.count == 1 && offsets(second).first == "2300")
      #expect(second.progress.reused == 2_300 && second.progress.chunksReused == 2)
    }
  }

  /// A conflict without a break before it: the bytes are another client's.
  @Test func foreignBytes() async throws {
    let (rig, server) = (try rig(), Server())
    let outcome = try await rig.run(from: "src", to: "tus:a") { sent in
      if sent.path.hasSuffix("/1"), sent.headers["Upload-Offset"] == "2000" {
        server.uploads.withLock { $0[0].append(0) }
      }
      return server.response(sent)
    }
    #expect(outcome.state == .completed)
    #expect(server.bytes.count == 2 && server.bytes.last == content)
  }

  /// A server that has fewer bytes than it had taken has lost them.
  @Test func lostBytes() async throws {
    let (rig, server) = (try rig(), Server())
    let outcome = try await rig.run(from: "src", to: "tus:a") { sent in
      if sent.path.hasSuffix("/1"), sent.headers["Upload-Offset"] == "3000" {
        server.uploads.withLock { $0[0].removeLast(500) }
      }
      return server.response(sent)
    }
    #expect(outcome.state == .completed)
    #expect(server.bytes.count == 2 && server.bytes.last == content)
  }

  /// A conflict in which the server names the very offset that was sent passes.
  @Test func idleConflict() async throws {
    let (rig, server) = (try rig(), Server())
    let hits = Mutex(0)
    let outcome = try await rig.run(from: "src", to: "tus:a") { sent in
      if sent.headers["Upload-Offset"] == "1000", sent.method == "PATCH",
        hits.withLock({
          $0 += 1
          return $0 <= 2
        })
      {
        return .status(409)
      }
      return server.response(sent)
    }
    #expect(outcome.state == .completed && server.bytes == [content])
    let other = Server()
    let always = try await self.rig().run(from: "src", to: "tus:a") { sent in
      sent.method == "PATCH" ? .status(409) : other.response(sent)
    }
    #expect(always.code == .chunkConflict)
  }
}
