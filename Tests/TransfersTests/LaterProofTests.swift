import Endpoints
import Foundation
import JobModel
import Testing
import Transfers

/// Uploads that are complete, and of which the manifest demands more proof by now.
struct LaterProofTests {
  private let content = pattern(5_300)
  private let server = FakeServer()
  private let rig: Rig

  init() throws {
    rig = try Rig(.upload)
    try rig.write("src", content)
  }

  private func run(
    _ level: VerifyLevel, after: @escaping @Sendable (Sent, Reply) -> Reply = { $1 }
  ) async throws -> Rig.Outcome {
    let server = server
    return try await rig.run(from: "src", to: "api:a.txt", changing: { $0.verify = level }) { sent in
      after(sent, server.response(sent))
    }
  }

  private func wasSent(_ outcome: Rig.Outcome) -> Bool { outcome.sent.contains { $0.method == "PUT" } }

  /// Who doubts a store writes `readback` later: it is read then, and sent again where it is another.
  @Test(arguments: [true, false]) func readback(_ isDamaged: Bool) async throws {
    func reads(_ outcome: Rig.Outcome) -> Int {
      outcome.sent.count { $0.path.hasPrefix("/api/files/id-") && !$0.path.hasSuffix("/meta") }
    }
    #expect(try await run(.available).state == .completed)
    if isDamaged { server.put("id-s1", [255] + content.dropFirst(), tag: "x") }
    let proved = try await run(.readback)
    #expect(proved.state == (isDamaged ? .completed : .upToDate(nil)) && wasSent(proved) == isDamaged)
    #expect(proved.progress.movedBecause == (isDamaged ? .damaged : nil))
    #expect(proved.progress.verification.contains(Verification("readback", .server, .match)))
    #expect(reads(proved) == (isDamaged ? 2 : 1))
    let known = try await run(.readback)
    #expect(known.state == .upToDate(nil) && reads(known) == 0)
  }

  /// A store that damages it, and that nothing proved in this run, has not mended that by being asked again.
  @Test(arguments: [true, false]) func whatFailedIsReadBack(_ isDamaged: Bool) async throws {
    let store = FakeStore()
    let refused = try await rig.run(from: "src", to: "store:a") { _ in .status(403) }
    #expect(refused.state == .failed)
    try await rig.alter { $0.failure = Failure(.integrityMismatch, "the server's md5 is not the source's") }
    let outcome = try await rig.run(from: "src", to: "store:a") { sent in
      var sent = sent
      if isDamaged, sent.method == "PUT" { sent.body[0] ^= 1 }
      var reply = store.response(sent)
      // Nothing but an ETag is told, which is no MD5 of what was sent.
      var headers: HeaderList = [:]
      for field in reply.headers.fields where !field.name.hasPrefix("x-amz") && field.name != "ETag" {
        headers.append(field.name, field.value)
      }
      if reply.status == 200 { headers.append("ETag", "\"" + String(repeating: "0", count: 32) + "\"") }
      reply.headers = headers
      return reply
    }
    #expect(outcome.state == (isDamaged ? .failed : .completed))
    #expect(outcome.code == (isDamaged ? .integrityMismatch : nil))
    let result: Verification.Result = isDamaged ? .mismatch : .match
    #expect(outcome.progress.verification.contains(Verification("readback", .server, result)))
  }

  /// What the server tells proves it; where it tells nothing, what it answers to the bytes does.
  @Test(arguments: [true, false]) func required(_ isTold: Bool) async throws {
    #expect(try await run(.size).state == .completed)
    let digest = FakeServer.sha256(content)
    let proved = try await run(.required) { sent, reply in
      guard !isTold, sent.path.hasSuffix("/meta") else { return reply }
      var reply = reply
      let told = String(decoding: reply.body, as: UTF8.self)
      reply.body = [UInt8](told.replacing("\"\(digest)\"", with: "null").utf8)
      return reply
    }
    #expect(proved.state == (isTold ? .upToDate(nil) : .completed) && wasSent(proved) == !isTold)
    #expect(proved.progress.movedBecause == (isTold ? nil : .asked))
    #expect(proved.progress.verification.contains(Verification("sha256", .server, .match)))
    #expect(proved.progress.digests[.sha256] == digest)
  }
}
