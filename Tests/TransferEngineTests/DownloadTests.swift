import Foundation
import JobLedger
import JobModel
import Protocols
import Synchronization
import Testing
import TransferEngine

struct DownloadTests {
  private let content = pattern(10_500)

  private func server(_ change: (inout FakeServer.State) -> Void = { _ in }) -> FakeServer {
    FakeServer { state in
      state.files["a"] = content
      change(&state)
    }
  }

  private func run(
    _ rig: Rig, _ server: FakeServer, expect: JobModel.Expectation = JobModel.Expectation(),
    instead: @escaping @Sendable (Sent) -> Reply? = { _ in nil },
    after: @escaping @Sendable (Sent, Reply) -> Reply = { $1 }
  ) async throws -> Rig.Outcome {
    try await rig.run(from: "http://h/f/a", to: "out/a", expect: expect) { sent in
      instead(sent) ?? after(sent, server.answer(sent))
    }
  }

  /// Ended well: the file is there, no part file is, the digest on record is the file's.
  private func checkComplete(
    _ rig: Rig, _ outcome: Rig.Outcome, _ bytes: [UInt8]? = nil, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(
      outcome.state == .completed, "\(String(describing: outcome.progress.failure))", sourceLocation: location
    )
    #expect(rig.read("out/a") == bytes ?? content, sourceLocation: location)
    #expect(rig.files == ["out/a"], sourceLocation: location)
    #expect(
      outcome.progress.digests[.sha256] == FakeServer.sha256(bytes ?? content), sourceLocation: location)
  }

  private func checkFailed(
    _ rig: Rig, _ outcome: Rig.Outcome, _ code: ErrorCode, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(outcome.code == code, "\(String(describing: outcome.progress.failure))", sourceLocation: location)
    if code.isRetryable {
      #expect(outcome.state == .paused(.retries), sourceLocation: location)
    } else {
      #expect(outcome.state == .failed, sourceLocation: location)
    }
    if code.partial == .dropped {
      #expect(rig.files.isEmpty, "the part file is left", sourceLocation: location)
    }
  }

  @Test func ranges() async throws {
    let rig = try Rig(.download)
    let outcome = try await run(rig, server())
    checkComplete(rig, outcome)
    let progress = outcome.progress
    #expect(
      progress.chunksTotal == 11 && progress.chunksCompleted == 11 && progress.contiguousBytes == 10_500)
    #expect(progress.transferred == 10_500 && progress.discarded == 0 && progress.reused == 0)
    #expect(progress.requests == outcome.sent.count && progress.isSynced)
    #expect(progress.verification.contains(Verification("sha256", .server, .match)))
    #expect(outcome.sent.dropFirst().allSatisfy { $0.headers["If-Range"] != nil })
    #expect(try rig.ledger().chunks(of: 1).isEmpty)
  }

  @Test func otherServers() async throws {
    for size in [0, 1, 999, 1000, 1001, 10_500] {
      for (ranges, length, tags, digests) in [
        (true, true, true, true), (true, true, false, false), (false, true, true, true),
        (false, true, false, false),
        (false, false, false, false), (true, true, false, true),
      ] {
        let bytes = pattern(size, seed: 3)
        let rig = try Rig(.download)
        let server = server {
          $0.files["a"] = bytes
          $0.servesRanges = ranges
          $0.givesLength = length
          $0.givesTags = tags
          $0.givesDigests = digests
        }
        let outcome = try await run(rig, server)
        checkComplete(rig, outcome, bytes)
        // Ranges that nothing ties together are not joined: what the first one brought is fetched again.
        let isUntied = ranges && !tags && !digests && size > 1000
        #expect(outcome.progress.transferred == Int64(size) + (isUntied ? 1000 : 0))
        #expect(outcome.progress.discarded == (isUntied ? 1000 : 0))
        #expect(outcome.progress.size == Int64(size))
      }
    }
  }

  @Test func anEmptyFileBehindA416WithoutASize() async throws {
    let rig = try Rig(.download)
    let outcome = try await run(rig, server { $0.files["a"] = [] }) { sent in
      sent.headers["Range"] == nil ? nil : .status(416)
    }
    checkComplete(rig, outcome, [])
  }

  @Test(arguments: [1, 3]) func aBrokenSmallFileIsHashedAnew(cuts: Int) async throws {
    let bytes = pattern(9000)
    for (ranges, length) in [(true, true), (false, true), (false, false)] {
      let rig = try Rig(.download, chunkSize: 100_000) { $0.policy.retryAttempts = 6 }
      let server = server {
        $0.files["a"] = bytes
        $0.servesRanges = ranges
        $0.givesLength = length
      }
      let outcome = try await run(
        rig, server,
        after: { sent, reply in
          var reply = reply
          if sent.number <= cuts { reply.cut = 5000 }
          return reply
        })
      checkComplete(rig, outcome, bytes)
      // Where ranges are served the beginning is kept, and the rest comes with the second request.
      let breaks = ranges ? min(cuts, 2) : cuts
      #expect(outcome.progress.discarded == Int64(ranges ? 0 : 5000 * cuts))
      #expect(outcome.progress.retries == breaks)
      #expect(outcome.sent.count == (ranges ? 2 : cuts + 1), "a mismatch was seen where there was none")
    }
  }

  @Test func aStreamThatBreaksStartsAnewAndEndsSomeTime() async throws {
    for length in [true, false] {
      for tags in [true, false] {
        let rig = try Rig(.download)
        let server = server {
          $0.servesRanges = false
          $0.givesLength = length
          $0.givesTags = tags
          $0.givesDigests = false
        }
        let outcome = try await run(
          rig, server,
          after: { sent, reply in
            var reply = reply
            if sent.number > 40 { return .status(404) }
            reply.cut = 4500
            return reply
          })
        checkFailed(rig, outcome, .networkUnreachable)
        #expect(outcome.sent.count == 3, "an unresumable stream was tried \(outcome.sent.count) times")
        // Once it holds, it is whole, and nothing of the other tries is in the digest.
        let again = try await run(
          rig, server,
          after: { sent, reply in
            var reply = reply
            if sent.number == 1 {
              reply = Reply(headers: ["Content-Type": "x/y"], body: pattern(10_500, seed: 8), cut: 4500)
            }
            if sent.number == 1, tags {
              reply.headers.append("ETag", "\"\(FakeServer.sha256(pattern(10_500)).prefix(8))\"")
            }
            return reply
          })
        checkComplete(rig, again)
      }
    }
  }

  @Test func aRangeThatBreaksGoesOnWhereItStopped() async throws {
    let rig = try Rig(.download) { $0.policy.chunksInFlight = 1 }
    let outcome = try await run(
      rig, server(),
      after: { sent, reply in
        var reply = reply
        if sent.number % 2 == 0 { reply.cut = 1500 }
        return reply
      })
    checkComplete(rig, outcome)
    #expect(outcome.progress.transferred == 10_500 + outcome.progress.discarded)
  }

  @Test func refusals() async throws {
    for (status, code, calls) in [
      (404, .notFound, 1), (410, .notFound, 1), (403, .forbidden, 1), (401, .unauthorized, 1),
      (500, .serverError, 3),
      (503, .serverError, 3), (429, .rateLimited, 3), (400, .protocolViolation, 1),
      (204, .protocolViolation, 3),
      (304, .protocolViolation, 3), (416, .rangeInvalid, nil),
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
      }
    }
    let strict = try Rig(.download) { $0.verify = .required }
    checkFailed(strict, try await run(strict, server { $0.givesDigests = false }), .digestUnavailable)
  }

  @Test func resumeFetchesOnlyWhatIsDamaged() async throws {
    let rig = try Rig(.download) {
      $0.policy.retryAttempts = 1
      $0.policy.chunksInFlight = 1
    }
    let first = try await run(rig, server()) { $0.number > 4 ? .broken() : nil }
    checkFailed(rig, first, .networkUnreachable)
    let held = try rig.ledger().chunks(of: 1)
    #expect(held.count >= 3)
    let part = try #require(rig.files.first { $0.hasSuffix(".haul-part") })
    #expect(part.utf8.count <= 259 && part.hasPrefix("out/.a."))
    var bytes = try #require(rig.read(part))
    bytes[1500] ^= 0xff
    let handle = try #require(FileHandle(forWritingAtPath: rig.path + "/work/" + part))
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
    let second = try await run(rig, server())
    checkComplete(rig, second)
    let reused = held.reduce(0) { $0 + $1.length } - 1000
    #expect(second.progress.reused == reused)
    #expect(second.progress.transferred - first.progress.transferred == 10_500 - reused)
    // Without its part file everything is fetched again.
    let lost = try Rig(.download) { $0.policy.retryAttempts = 1 }
    _ = try await run(lost, server()) { $0.number > 3 ? .broken() : nil }
    for file in lost.files { try FileManager.default.removeItem(atPath: lost.path + "/work/" + file) }
    checkComplete(lost, try await run(lost, server()))
  }

  @Test func aKillBetweenRenameAndRecord() async throws {
    let rig = try Rig(.download) { $0.ifExists = .fail }
    checkComplete(rig, try await run(rig, server()))
    try await rig.alter(
      { progress in
        progress.completedAt = nil
        progress.destination = nil
        progress.isSynced = false
      }, state: .paused(.interrupted))
    let again = try await run(rig, server())
    checkComplete(rig, again)
    #expect(again.sent.isEmpty)
  }

  @Test func aStandingCompletionIsUpToDate() async throws {
    let rig = try Rig(.download)
    let server = server()
    checkComplete(rig, try await run(rig, server))
    let second = try await run(rig, server)
    #expect(second.state == .upToDate(nil) && second.sent.map(\.method) == ["HEAD"])
    #expect(second.progress.reused == 10_500 && second.progress.transferred == 0)
    // Another boot before the sync: verified again, by its bytes.
    try await rig.alter { progress in
      progress.isSynced = false
      progress.bootID = "another"
    }
    #expect(try await run(rig, server).state == .upToDate(nil))
    // Changed here: fetched again, and so it is when it changed there.
    try rig.write("out/a", [1, 2, 3])
    checkComplete(rig, try await run(rig, server))
    server.put("a", pattern(500, seed: 1), tag: "\"n\"")
    checkComplete(rig, try await run(rig, server), pattern(500, seed: 1))
    let never = try Rig(.download) { $0.refresh = .never }
    _ = try await run(never, server)
    #expect(try await run(never, server).sent.isEmpty)
    let always = try Rig(.download) { $0.refresh = .always }
    _ = try await run(always, server)
    #expect(try await run(always, server).state == .completed)
  }

  @Test func aStrangerAtTheDestination() async throws {
    for (rule, state, code) in [
      (.replace, .completed, nil), (.keep, .skipped(.exists), nil), (.fail, .failed, .destinationExists),
    ] as [(ExistsRule, TransferState, ErrorCode?)] {
      for digests in [true, false] {
        let rig = try Rig(.download) { $0.ifExists = rule }
        try rig.write("out/a", [9, 9])
        let outcome = try await run(rig, server { $0.givesDigests = digests })
        #expect(outcome.state == state && outcome.code == code, "\(rule)")
        #expect(rig.read("out/a") == (rule == .replace ? content : [9, 9]))
        #expect(rig.files == ["out/a"])
      }
      let same = try Rig(.download) { $0.ifExists = rule }
      try same.write("out/a", content)
      let adopted = try await run(same, server())
      #expect(adopted.state == .upToDate(.adopted) && adopted.progress.transferred == 0)
      #expect(try await run(same, server()).state == .upToDate(nil))
    }
    // Told by the manifest alone, an adopted file stays adopted.
    let expect = JobModel.Expectation(digests: [.sha256: FakeServer.sha256(content)])
    let told = try Rig(.download)
    try told.write("out/a", content)
    #expect(try await run(told, server(), expect: expect).state == .upToDate(.adopted))
    let again = try await run(told, server(), expect: expect)
    #expect(again.progress.transferred == 0, "what was adopted is fetched all the same")
  }

  @Test func theServerNamesTheFile() async throws {
    for (disposition, name) in [
      ("attachment; filename=\"b.txt\"", "b.txt"), ("attachment; filename=\"../../b.txt\"", "b.txt"),
      ("attachment; filename*=UTF-8''..%2F%CC%81evil", "\u{301}evil"), (nil, "a"),
    ] as [(String?, String)] {
      let rig = try Rig(.download)
      let server = server()
      let outcome = try await rig.run(from: "http://h/f/a", to: "out/") { sent in
        var reply = server.answer(sent)
        if let disposition { reply.headers.append("Content-Disposition", disposition) }
        return reply
      }
      #expect(outcome.state == .completed)
      #expect(rig.files.map { Array($0.utf8) } == [Array("out/\(name)".utf8)])
    }
  }

  @Test(arguments: [1, 2, 4, 6]) func stoppedAnywhereItGoesOn(number: Int) async throws {
    let (rig, server) = (try Rig(.download), server())
    let stopped = try await rig.run(from: "http://h/f/a", to: "out/a", stopAt: number) { server.answer($0) }
    #expect(stopped.code == nil)
    if stopped.state != .completed {
      #expect(stopped.state == .paused(.interrupted))
      let held = try rig.ledger().chunks(of: 1).reduce(0) { $0 + $1.length }
      let whole = try await run(rig, server)
      checkComplete(rig, whole)
      #expect(whole.progress.reused == held, "what was recorded is fetched again")
    }
  }

  @Test func failingEveryCallInTurnCostsNothingButWork() async throws {
    let size = pattern(5_300)
    let clean = try Rig(.download)
    let calls = try await run(clean, server { $0.files["a"] = size }).sent.count
    for number in 1...calls {
      for kind in 0..<4 {
        let rig = try Rig(.download) { $0.policy.retryAttempts = 1 }
        let server = server { $0.files["a"] = size }
        let broken = try await run(
          rig, server,
          after: { sent, reply in
            guard sent.number == number else { return reply }
            var reply = reply
            switch kind {
            case 0: return .broken(.timeout)
            case 1: return .status(503)
            case 2: reply.cut = 0
            default: reply.cut = 550
            }
            return reply
          })
        #expect(broken.state == .paused(.retries), "call \(number), kind \(kind)")
        let whole = try await run(rig, server)
        checkComplete(rig, whole, size)
        #expect(
          whole.progress.transferred - whole.progress.discarded == 5_300, "call \(number), kind \(kind)")
      }
    }
  }
}
