import Digests
import Endpoints
import JobModel
import Testing

/// Answers that a download must not use, and objects that change or come damaged.
struct DownloadRefusalTests: DownloadCase {
  @Test func refusals() async throws {
    for (status, code, calls) in [
      (404, .notFound, 1), (410, .notFound, 1), (403, .forbidden, 1), (401, .unauthorized, 1),
      (500, .serverError, 3),
      (503, .serverError, 3), (429, .rateLimited, 3), (400, .protocolViolation, 1),
      (204, .protocolViolation, 3),
      (304, .protocolViolation, 1), (416, .rangeInvalid, nil),
    ] as [(Int, ErrorCode, Int?)] {
      let rig = try Rig(.download)
      let outcome = try await run(rig, server()) { _ in .status(status) }
      checkFailed(rig, outcome, code)
      if let calls { #expect(outcome.sent.count == calls, "\(status)") }
    }
    for fault in [ErrorCode.networkUnreachable, .timeout, .tlsFailed] {
      let rig = try Rig(.download)
      checkFailed(rig, try await run(rig, server()) { _ in .broken(fault) }, fault)
    }
  }

  /// An answer that is over without a fault, and brings nothing, is a failed try like others: it is not asked for ever.
  @Test(arguments: [1, 2, 4]) func answersThatBringNothing(first: Int) async throws {
    let rig = try Rig(.download)
    let outcome = try await run(rig, server()) { sent in
      guard sent.number >= first else { return nil }
      var reply = Reply()
      reply.isMute = true
      return reply
    }
    checkFailed(rig, outcome, .protocolViolation)
    #expect(outcome.sent.count <= first + 2 * 3 && outcome.delays.count >= 2, "\(outcome.sent.count)")
    #expect(outcome.progress.maxChunkAttempts == 3)
  }

  @Test func rangesThatMakeNoSense() async throws {
    for headers in [
      [:], ["Content-Range": "bytes 1-1000/10500"], ["Content-Range": "bytes 0-2000/10500"],
      ["Content-Range": "nonsense"], ["Content-Type": "multipart/byteranges; boundary=x"],
    ] as [HeaderList] {
      let rig = try Rig(.download)
      let outcome = try await run(rig, server()) { _ in Reply(status: 206, headers: headers, body: [1, 2]) }
      checkFailed(rig, outcome, .rangeInvalid)
      #expect(outcome.progress.transferred == 0, "a byte of a bad answer was used")
    }
    let short = try Rig(.download)
    let outcome = try await run(
      short, server(),
      after: { sent, reply in
        guard sent.headers["Range"] == "bytes=0-999" else { return reply }
        return Reply(
          status: 206, headers: ["Content-Range": "bytes 0-399/10500"], body: Array(reply.body.prefix(400)))
      })
    checkComplete(short, outcome)
    let long = try Rig(.download)
    let longer = try await run(
      long, server(),
      after: { sent, reply in
        var reply = reply
        if sent.number == 2 { reply.body += [0] }
        return reply
      })
    checkComplete(long, longer)
    let early = try Rig(.download)
    let shorter = try await run(
      early, server(),
      after: { sent, reply in
        var reply = reply
        if sent.number == 2 { reply.body.removeLast(5) }
        return reply
      })
    checkComplete(early, shorter)
  }

  @Test func delays() async throws {
    let rig = try Rig(.download) {
      $0.policy.retryAttempts = 5
      $0.policy.retryInitial = 1
      $0.policy.retryMax = 3
    }
    let outcome = try await run(rig, server()) { sent in
      switch sent.number {
      case 1: .broken()
      case 2: .status(503)
      case 3: .status(429, ["Retry-After": "7"])
      case 4: .status(503, ["Retry-After": "Tue, 14 Nov 2023 22:13:30 GMT"])
      default: nil
      }
    }
    checkComplete(rig, outcome)
    #expect(outcome.delays == [1, 2, 8, 11])
    #expect(outcome.progress.retries == 4 && outcome.progress.maxChunkAttempts == 5)
    let full = try Rig(.download) { $0.policy.retryJitter = .full }
    #expect(try await run(full, server()) { $0.number < 3 ? .broken() : nil }.delays == [0.25, 0.5])
  }

  @Test func theObjectChanges() async throws {
    let newer = pattern(9_000, seed: 5)
    let rig = try Rig(.download)
    let server = server()
    let outcome = try await run(
      rig, server,
      after: { sent, reply in
        if sent.number == 2 { server.put("a", newer, tag: "\"new\"") }
        return reply
      })
    checkComplete(rig, outcome, newer)
    #expect(outcome.progress.freshStarts == 1 && outcome.progress.discarded > 0)
    let restless = try Rig(.download)
    let other = self.server()
    let changed = try await run(
      restless, other,
      after: { sent, reply in
        other.put("a", pattern(10_500, seed: sent.number), tag: "\"v\(sent.number)\"")
        return reply
      })
    checkFailed(restless, changed, .remoteChanged)
  }

  @Test func itChangesBetweenAttempts() async throws {
    let rig = try Rig(.download) { $0.policy.retryAttempts = 1 }
    let server = server()
    checkFailed(rig, try await run(rig, server) { $0.number > 3 ? .broken() : nil }, .networkUnreachable)
    server.put("a", pattern(10_500, seed: 9), tag: "\"new\"")
    checkComplete(rig, try await run(rig, server), pattern(10_500, seed: 9))
  }

  @Test func aBadByteIsRepaired() async throws {
    let big = pattern(900_000)
    let rig = try Rig(.download, chunkSize: 262_144)
    let server = server { $0.files["a"] = big }
    let outcome = try await run(
      rig, server,
      after: { sent, reply in
        var reply = reply
        if sent.number == 2 { reply.body[7] ^= 1 }
        return reply
      })
    checkComplete(rig, outcome, big)
    #expect(outcome.progress.chunkSize == 65_536)
    let bad = try Rig(.download, chunkSize: 262_144)
    let failed = try await run(
      bad, server,
      after: { sent, reply in
        var reply = reply
        if !reply.body.isEmpty { reply.body[7] ^= 1 }
        return reply
      })
    checkFailed(bad, failed, .integrityMismatch)
    #expect(failed.progress.failure?.expected == FakeServer.sha256(big))
    #expect(failed.progress.transferred == 1_800_000, "everything is fetched twice, no more")
  }

  /// What a first answer was wrong in is not believed when it is fetched once more: bytes that end early or late without
  /// a length, a page about something else with one.
  @Test(arguments: [(200, false), (10_504, false), (200, true)])
  func theFirstAnswerIsAnotherThing(_ count: Int, _ isSized: Bool) async throws {
    let digest = JobModel.Expectation(digests: [.sha256: FakeServer.sha256(content)])
    let size = JobModel.Expectation(size: 10_500)
    for expect in count == 200 && !isSized ? [digest, size] : [digest] {
      let rig = try Rig(.download)
      let server = server {
        $0.servesRanges = isSized
        $0.givesLength = isSized
        $0.givesDigests = false
      }
      let outcome = try await run(
        rig, server, expect: expect,
        after: { sent, reply in
          var reply = reply
          if !isSized { reply.headers.append("Transfer-Encoding", "chunked") }
          guard sent.number == 1 else { return reply }
          return Reply(
            headers: isSized ? ["Content-Length": String(count)] : reply.headers, body: pattern(count))
        })
      checkComplete(rig, outcome)
    }
  }

  @Test func expectations() async throws {
    for (expect, code) in [
      (JobModel.Expectation(digests: [.sha256: FakeServer.sha256(content)], size: 10_500), nil),
      (JobModel.Expectation(size: 1), .lengthMismatch),
      (JobModel.Expectation(digests: [.sha256: String(repeating: "0", count: 64)]), .integrityMismatch),
      (JobModel.Expectation(type: "image/png"), .typeMismatch),
    ] as [(JobModel.Expectation, ErrorCode?)] {
      for digests in [true, false] {
        let rig = try Rig(.download)
        let outcome = try await run(rig, server { $0.givesDigests = digests }, expect: expect)
        if let code { checkFailed(rig, outcome, code) } else { checkComplete(rig, outcome) }
        #expect(outcome.progress.verification.contains { $0.result == .mismatch } == (code != nil))
      }
    }
    let strict = try Rig(.download) { $0.verify = .required }
    let refused = try await run(strict, server { $0.givesDigests = false })
    checkFailed(strict, refused, .digestUnavailable)
    #expect(refused.sent.map(\.method) == ["GET", "HEAD"])
    // Ranges tell no digest of the whole, and HEAD does.
    let digest = Base64.encode(try #require(Hex.decode(FakeServer.sha256(content))))
    let other = try Rig(.download) { $0.verify = .required }
    let told = try await run(
      other, server { $0.givesDigests = false },
      after: { sent, reply in
        var reply = reply
        if sent.method == "HEAD" { reply.headers.append("Digest", "SHA-256=" + digest) }
        return reply
      })
    checkComplete(other, told)
    #expect(told.progress.verification.contains(Verification("sha256", .server, .match)))
  }
}
