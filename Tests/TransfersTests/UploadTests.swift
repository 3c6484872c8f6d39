import Endpoints
import Foundation
import JobLedger
import JobModel
import Synchronization
import Testing
import Transfers

struct UploadTests {
  private let content = pattern(5_300)

  private func rig(_ change: (inout TransferSettings) -> Void = { _ in }) throws -> Rig {
    let rig = try Rig(.upload, change: change)
    try rig.write("src", content)
    return rig
  }

  private func run(
    _ rig: Rig, _ server: FakeServer, expect: JobModel.Expectation = JobModel.Expectation(),
    now: Double = 1_700_000_000,
    instead: @escaping @Sendable (Sent) -> Reply? = { _ in nil },
    after: @escaping @Sendable (Sent, Reply) -> Reply = { $1 }
  ) async throws -> Rig.Outcome {
    try await rig.run(from: "src", to: "api:a.txt", expect: expect, now: now) { sent in
      instead(sent) ?? after(sent, server.response(sent))
    }
  }

  private func checkComplete(
    _ server: FakeServer, _ outcome: Rig.Outcome, _ bytes: [UInt8]? = nil,
    _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(
      outcome.state == .completed, "\(String(describing: outcome.progress.failure))", sourceLocation: location
    )
    #expect(server.file("a.txt") == bytes ?? content, sourceLocation: location)
    #expect(
      outcome.progress.digests[.sha256] == FakeServer.sha256(bytes ?? content), sourceLocation: location)
    #expect(outcome.progress.session == nil, sourceLocation: location)
  }

  private func puts(_ outcome: Rig.Outcome) -> [String] {
    outcome.sent.filter { $0.method == "PUT" }.map {
      $0.path.split(separator: "/").last.map(String.init) ?? ""
    }
  }

  @Test func aSession() async throws {
    let (rig, server) = (try rig(), FakeServer())
    let outcome = try await run(rig, server)
    checkComplete(server, outcome)
    #expect(outcome.sent.allSatisfy { $0.headers["Accept-Encoding"] == "identity" })
    #expect(Set(puts(outcome)) == ["0", "1", "2", "3", "4", "5"] && puts(outcome).count == 6)
    let progress = outcome.progress
    #expect(progress.transferred == 5_300 && progress.discarded == 0 && progress.reused == 0)
    #expect(progress.chunksTotal == 6 && progress.chunksCompleted == 6 && progress.contiguousBytes == 5_300)
    #expect(progress.remoteID == "id-s1" && progress.sessionState == .closed)
    #expect(progress.verification == [Verification("sha256", .server, .match)])
    #expect(try rig.ledger().chunks(of: 1).isEmpty)
    let again = try await run(rig, server)
    #expect(again.state == .upToDate(nil) && puts(again).isEmpty)
  }

  /// Who knows files by their ids alone may take the name for an id, and fail at it.
  @Test(arguments: [500, 501]) func aServerThatFailsAtNames(_ status: Int) async throws {
    let (rig, server) = (try rig(), FakeServer())
    let instead: @Sendable (Sent) -> Reply? = { sent in
      sent.path.hasSuffix("/files/a.txt/meta") ? .status(status) : nil
    }
    checkComplete(server, try await run(rig, server, instead: instead))
    let again = try await run(rig, server, instead: instead)
    #expect(again.state == .upToDate(nil) && puts(again).isEmpty)
  }

  @Test func sizes() async throws {
    for size in [0, 1, 999, 1000, 1001] {
      let (rig, server) = (try rig(), FakeServer())
      try rig.write("src", pattern(size))
      checkComplete(server, try await run(rig, server), pattern(size))
    }
  }

  /// A chunk size that the server refuses gives way to the one that it names, which is told.
  @Test(arguments: [1000, 100_000] as [Int64]) func aChunkSizeThatIsRefused(_ wanted: Int64) async throws {
    let rig = try self.rig { $0.chunkSize = .bytes(wanted) }
    let server = FakeServer { $0.maxChunk = 400 }
    let outcome = try await run(rig, server)
    checkComplete(server, outcome)
    let told = outcome.events.compactMap { event -> String? in
      if case .diagnostic(let diagnostic) = event { diagnostic.message } else { nil }
    }
    #expect(told == ["chunks are 400 bytes, as the server wants, in place of \(wanted)"])
  }

  @Test func aLostAnswerIsAskedFor() async throws {
    let (rig, server) = (try rig { $0.policy.chunksInFlight = 1 }, FakeServer())
    let outcome = try await run(
      rig, server,
      after: { sent, reply in
        sent.path.hasSuffix("/chunks/2") ? .broken() : reply
      })
    checkComplete(server, outcome)
    #expect(puts(outcome) == ["0", "1", "2", "3", "4", "5"], "what the server has is not sent again")
    let (other, second) = (try self.rig(), FakeServer())
    let finish = try await run(
      other, second,
      after: { sent, reply in
        sent.path.hasSuffix("/finalize") && reply.status == 201 ? .broken() : reply
      })
    checkComplete(second, finish)
  }

  @Test func resumeTakesTheServersWord() async throws {
    let (rig, server) = (
      try rig {
        $0.policy.retryAttempts = 1; $0.policy.chunksInFlight = 1
      }, FakeServer()
    )
    let broken = try await run(rig, server) { $0.path.hasSuffix("/chunks/4") ? .status(503) : nil }
    #expect(broken.state == .paused(.retries) && broken.code == .serverError)
    #expect(try rig.ledger().chunks(of: 1).map(\.offset) == [0, 1000, 2000, 3000])
    _ = server.state.withLock { $0.sessions["s1"]?.chunks.removeValue(forKey: 1) }
    let outcome = try await run(rig, server)
    checkComplete(server, outcome)
    #expect(puts(outcome) == ["1", "4", "5"])
    #expect(outcome.progress.reused == 3000 && outcome.progress.chunksReused == 3)
  }

  @Test func aSessionThatIsGone() async throws {
    let (rig, server) = (
      try rig {
        $0.policy.retryAttempts = 1; $0.policy.chunksInFlight = 1
      }, FakeServer()
    )
    _ = try await run(rig, server) { $0.path.hasSuffix("/chunks/4") ? .status(503) : nil }
    server.state.withLock { $0.sessions = [:] }
    let outcome = try await run(rig, server)
    checkComplete(server, outcome)
    #expect(puts(outcome).count == 6)
    // In the middle of the sending, once, and then again and again.
    let (other, second) = (try self.rig(), FakeServer())
    checkComplete(
      second,
      try await run(
        other, second,
        after: { sent, reply in
          if sent.number == 3 { second.state.withLock { $0.sessions = [:] } }
          return reply
        }))
    let third = FakeServer()
    let failing = try self.rig()
    let failed = try await run(failing, third) {
      $0.method == "PUT" ? .status(410, [:], #"{"code":"SESSION_EXPIRED"}"#) : nil
    }
    #expect(failed.code == .sessionExpired && failed.state == .failed)
  }

  /// What a lost session held is asked for until a successor is open, also by later attempts.
  @Test func aSuccessorThatCantBeOpenedYet() async throws {
    let (rig, server) = (try rig { $0.policy.chunksInFlight = 1 }, FakeServer())
    let gone = Reply.status(410, [:], #"{"code":"SESSION_EXPIRED"}"#)
    for reply in [Reply.broken(), .status(503)] {
      let waiting = try await run(rig, server) { sent in
        if sent.path.hasSuffix("/chunks/4") || sent.method == "GET" { return gone }
        return String(decoding: sent.body, as: UTF8.self).contains("resumeFrom") ? reply : nil
      }
      #expect(waiting.state == .paused(.retries) && waiting.progress.session?.id == "s1")
    }
    let outcome = try await run(rig, server) { $0.path.contains("/s1") ? gone : nil }
    checkComplete(server, outcome)
    #expect(puts(outcome) == ["4", "5"])
  }

  @Test func aSessionNearItsEndIsRenewed() async throws {
    let now = 1_700_000_000.0
    let (rig, server) = (
      try rig {
        $0.policy.retryAttempts = 1; $0.policy.chunksInFlight = 1
      }, FakeServer { $0.expiresAt = now + 1000 }
    )
    _ = try await run(rig, server) { $0.path.hasSuffix("/chunks/4") ? .status(503) : nil }
    server.state.withLock { $0.expiresAt = now + 9000 }
    let outcome = try await run(rig, server, now: now + 980)
    checkComplete(server, outcome)
    #expect(puts(outcome) == ["4", "5"] && server.state.withLock { $0.opened } == 2)
  }

  @Test func theLimitOfTheServer() async throws {
    let (rig, server) = (try rig(), FakeServer { $0.maxChunk = 700 })
    let outcome = try await run(rig, server)
    checkComplete(server, outcome)
    #expect(puts(outcome).count == 8 && outcome.progress.chunksTotal == 8)
  }

  /// A server that agrees to any size, and refuses the first chunk.
  @Test func theLimitOfTheServerToldOfAChunk() async throws {
    let late = FakeServer { ($0.maxChunk, $0.limitsChunksLate) = (700, true) }
    let outcome = try await run(try rig { $0.policy.chunksInFlight = 1 }, late)
    checkComplete(late, outcome)
    #expect(puts(outcome).count == 1 + 8 && outcome.progress.chunksTotal == 8)
    #expect(late.state.withLock { $0.deleted } == ["s1"], "the session of larger chunks is ended")
  }

  @Test func theSourceChanges() async throws {
    let newer = pattern(4_200, seed: 4)
    for kept in [content.count, newer.count] {
      let bytes = kept == newer.count ? newer : pattern(kept, seed: 4)
      let (rig, server) = (try rig { $0.policy.chunksInFlight = 1 }, FakeServer())
      let outcome = try await run(
        rig, server,
        after: { sent, reply in
          if sent.number == 3 { try? rig.write("src", bytes) }
          return reply
        })
      checkComplete(server, outcome, bytes)
      #expect(outcome.progress.freshStarts == 1 && server.state.withLock { $0.deleted } == ["s1"])
    }
    let (restless, server) = (try rig(), FakeServer())
    let failed = try await run(
      restless, server,
      after: { sent, reply in
        if sent.method == "PUT" { try? restless.write("src", pattern(5_300, seed: sent.number)) }
        return reply
      })
    #expect(failed.code == .sourceChanged && failed.state == .failed && server.file("a.txt") == nil)
  }

  /// Its mode, or a hard link, is not its content: what was sent is compared with it, and stands.
  @Test func theSourceIsTouched() async throws {
    let bytes = pattern(5_300, seed: 1)
    let (rig, server) = (try rig { $0.policy.chunksInFlight = 1 }, FakeServer())
    try rig.write("src", bytes)
    let outcome = try await run(
      rig, server,
      after: { sent, reply in
        if sent.method == "PUT" { chmod(rig.path + "/src", sent.number % 2 == 0 ? 0o600 : 0o644) }
        return reply
      })
    checkComplete(server, outcome, bytes)
    #expect(outcome.progress.freshStarts == 0 && outcome.progress.discarded == 0)
  }

  @Test func itChangesBetweenAttempts() async throws {
    let (rig, server) = (try rig { $0.policy.retryAttempts = 1 }, FakeServer())
    _ = try await run(rig, server) { $0.path.hasSuffix("/chunks/4") ? .status(503) : nil }
    try rig.write("src", pattern(3_000, seed: 2))
    checkComplete(server, try await run(rig, server), pattern(3_000, seed: 2))
    #expect(server.state.withLock { $0.sessions.isEmpty }, "the old session is left open at the server")
  }

  /// The same bytes under its name, or others that its fingerprint does not show: what was sent is compared with them.
  @Test(arguments: [false, true]) func itIsPutBackBetweenAttempts(otherwise: Bool) async throws {
    let server = FakeServer()
    let rig = try Rig(.upload, chunkSize: 50_000) {
      $0.policy.retryAttempts = 1; $0.policy.chunksInFlight = 1
    }
    var bytes = pattern(200_000)
    try rig.write("src", bytes)
    _ = try await run(rig, server) { $0.path.hasSuffix("/chunks/3") ? .status(503) : nil }
    if otherwise { bytes[60_000] ^= 1 }
    try FileManager.default.removeItem(atPath: rig.path + "/work/src")
    try rig.write("src", bytes)
    let outcome = try await run(rig, server)
    checkComplete(server, outcome, bytes)
    #expect(puts(outcome) == (otherwise ? ["0", "1", "2", "3"] : ["3"]))
    #expect(server.state.withLock { $0.opened } == (otherwise ? 2 : 1))
  }

  @Test func aMismatchIsRepaired() async throws {
    let (rig, server) = (try rig(), FakeServer())
    let once = try await run(
      rig, server,
      after: { sent, reply in
        if sent.path.hasSuffix("/s1/chunks/1") {
          server.state.withLock { $0.sessions["s1"]?.chunks[1]?[0] ^= 1 }
        }
        return reply
      })
    checkComplete(server, once)
    #expect(once.progress.freshStarts == 0)
    #expect(once.progress.discarded == 5_300)
    #expect(once.progress.transferred == 10_600)
    let (dropped, second) = (try self.rig { $0.policy.chunksInFlight = 1 }, FakeServer())
    let missing = try await run(
      dropped, second,
      after: { sent, reply in
        if sent.path.hasSuffix("/chunks/5") {
          _ = second.state.withLock { $0.sessions["s1"]?.chunks.removeValue(forKey: 2) }
        }
        return reply
      })
    checkComplete(second, missing)
    #expect(puts(missing) == ["0", "1", "2", "3", "4", "5", "2"], "only what is missing goes again")
    // What a server says that it lacks counts, though it says when it is asked that it holds all.
    let (named, lagging) = (try self.rig { $0.policy.chunksInFlight = 1 }, FakeServer())
    let asked = Mutex(0)
    let again = try await run(named, lagging) { sent in
      guard sent.path.hasSuffix("/finalize") else { return nil }
      let count = asked.withLock { count in
        count += 1
        return count
      }
      return count == 1 ? .status(409, [:], #"{"code":"CHUNKS_MISSING","missing":[1]}"#) : nil
    }
    checkComplete(lagging, again)
    #expect(puts(again) == ["0", "1", "2", "3", "4", "5", "1"])
    let (bad, third) = (try self.rig(), FakeServer())
    let failed = try await run(bad, third) { sent in
      sent.path.hasSuffix("/finalize") ? .status(422, [:], #"{"code":"INTEGRITY_MISMATCH"}"#) : nil
    }
    #expect(failed.code == .integrityMismatch && failed.state == .failed)
    #expect(third.state.withLock { $0.sessions.isEmpty } && failed.progress.session == nil)
    #expect(failed.progress.chunksCompleted == 0 && failed.progress.contiguousBytes == 0)
    #expect(failed.progress.discarded == failed.progress.transferred)
    #expect(failed.sent.filter { $0.path.hasSuffix("/finalize") }.count == 2)
  }

  @Test func aConflictStartsAnew() async throws {
    let (rig, server) = (try rig { $0.policy.chunksInFlight = 1 }, FakeServer())
    let outcome = try await run(
      rig, server,
      after: { sent, reply in
        if sent.number == 2 { server.state.withLock { $0.sessions["s1"]?.chunks[3] = [1, 2, 3] } }
        return reply
      })
    checkComplete(server, outcome)
    let (bad, second) = (try self.rig(), FakeServer())
    let failed = try await run(bad, second) {
      $0.method == "PUT" ? .status(409, [:], #"{"code":"CHUNK_CONFLICT"}"#) : nil
    }
    #expect(failed.code == .chunkConflict && failed.state == .failed)
  }

  @Test func refusals() async throws {
    for (status, code) in [
      (401, .unauthorized), (403, .forbidden), (413, .protocolViolation), (500, .serverError),
      (429, .rateLimited),
    ] as [(Int, ErrorCode)] {
      for place in ["/sessions", "/chunks/1", "/finalize"] {
        let (rig, server) = (try rig(), FakeServer())
        let outcome = try await run(rig, server) {
          $0.path.hasSuffix(place) && $0.method != "GET" ? .status(status) : nil
        }
        #expect(
          outcome.code == code, "\(status) at \(place): \(String(describing: outcome.progress.failure))")
      }
    }
    let (gone, server) = (try rig(), FakeServer())
    try FileManager.default.removeItem(atPath: gone.path + "/work/src")
    let outcome = try await run(gone, server)
    #expect(outcome.code == .sourceMissing && outcome.sent.isEmpty)
  }

  @Test func expectations() async throws {
    for (expect, code) in [
      (JobModel.Expectation(digests: [.sha256: FakeServer.sha256(content)], size: 5_300), nil),
      (JobModel.Expectation(digests: [.sha256: String(repeating: "0", count: 64)]), .integrityMismatch),
      (JobModel.Expectation(size: 1), .lengthMismatch),
      (JobModel.Expectation(type: "image/png"), .typeMismatch),
    ] as [(JobModel.Expectation, ErrorCode?)] {
      let (rig, server) = (try rig(), FakeServer())
      let outcome = try await run(rig, server, expect: expect)
      #expect(outcome.code == code)
      #expect(outcome.progress.verification.contains { $0.result == .mismatch } == (code != nil))
      #expect((server.file("a.txt") != nil) == (code == nil), "a source that is wrong must not be published")
    }
  }

  @Test func whatStandsThere() async throws {
    for (rule, state) in [(.keep, .skipped(.exists)), (.fail, .failed), (.replace, .completed)]
      as [(ExistsRule, TransferState)]
    {
      let (rig, server) = (try rig { $0.ifExists = rule }, FakeServer { $0.files["a.txt"] = [1] })
      let outcome = try await run(rig, server)
      #expect(outcome.state == state && (server.file("a.txt") == [1]) == (rule != .replace))
      let bytes = content
      let same = FakeServer { $0.files["a.txt"] = bytes }
      let adopted = try await run(try self.rig { $0.ifExists = rule }, same)
      #expect(adopted.state == .upToDate(.adopted) && puts(adopted).isEmpty)
    }
  }

  /// What an earlier attempt compared with another manifest says nothing of what is adopted.
  @Test func whatAnEarlierAttemptComparedIsForgotten() async throws {
    let (rig, bytes) = (try rig(), content)
    let failed = try await run(rig, FakeServer(), expect: JobModel.Expectation(size: 5))
    #expect(failed.progress.verification == [Verification("size", .manifest, .mismatch)])
    let adopted = try await run(rig, FakeServer { $0.files["a.txt"] = bytes })
    #expect(adopted.state == .upToDate(.adopted))
    #expect(adopted.progress.verification == [Verification("sha256", .server, .match)])
  }

  @Test func verifyByReadingBack() async throws {
    let (rig, server) = (try rig { $0.verify = .readback }, FakeServer())
    checkComplete(server, try await run(rig, server))
    let (bad, second) = (try self.rig { $0.verify = .readback }, FakeServer())
    let failed = try await run(
      bad, second,
      after: { sent, reply in
        var reply = reply
        if sent.method == "GET", sent.path.hasPrefix("/api/files/id-"), !sent.path.hasSuffix("/meta") {
          reply.body[0] ^= 1
        }
        return reply
      })
    #expect(failed.code == .integrityMismatch)
  }

  @Test(arguments: [2, 4, 6, 8, 9]) func stoppedAnywhereItGoesOn(number: Int) async throws {
    let (rig, server) = (try rig(), FakeServer())
    let stopped = try await rig.run(from: "src", to: "api:a.txt", stopAt: number) { server.response($0) }
    if stopped.state != .completed {
      #expect(stopped.state == .paused(.interrupted) && stopped.code == nil)
      let whole = try await run(rig, server)
      #expect([.completed, .upToDate(.adopted)].contains(whole.state))
      #expect(whole.sent.filter { $0.path.hasSuffix("/sessions") }.count <= (number == 2 ? 1 : 0))
    }
    #expect(server.file("a.txt") == content)
  }

  /// What was sent counts as thrown away until it is known to be there: the answer was lost, and so was the word of it.
  @Test(arguments: 3...8) func stoppedWhileItAsksWhatArrived(number: Int) async throws {
    let (rig, server) = (try rig { $0.policy.chunksInFlight = 1 }, FakeServer())
    let stopped = try await rig.run(from: "src", to: "api:a.txt", stopAt: number + 1) { sent in
      let reply = server.response(sent)
      return sent.number == number ? .broken() : reply
    }
    #expect(stopped.state == .paused(.interrupted) && stopped.sent.last?.method == "GET")
    let held = try rig.ledger().chunks(of: 1).reduce(0) { $0 + $1.length }
    #expect(held == (number - 3) * 1000)
    #expect(stopped.progress.transferred - stopped.progress.discarded == held)
    let whole = try await run(rig, server)
    #expect(whole.state == .completed && server.file("a.txt") == content)
    #expect(whole.progress.transferred == 5_300 && whole.progress.discarded == 0)
  }

  @Test func failingEveryCallInTurnCostsNothingButWork() async throws {
    let counting = FakeServer()
    let calls = try await run(try rig { $0.policy.retryAttempts = 1 }, counting).sent.count
    for number in 1...calls {
      for kind in 0..<4 {
        let (rig, server) = (try rig { $0.policy.retryAttempts = 1 }, FakeServer())
        let broken = try await run(
          rig, server,
          instead: { sent in
            guard sent.number == number else { return nil }
            return kind == 0 ? .broken(.timeout) : kind == 1 ? .status(503) : nil
          },
          after: { sent, reply in
            guard sent.number == number, kind > 1 else { return reply }
            return kind == 2
              ? .broken() : Reply(status: reply.status, headers: reply.headers, body: reply.body, cut: 0)
          })
        if broken.state != .completed {
          #expect(
            broken.state == .paused(.retries),
            "call \(number), kind \(kind): \(String(describing: broken.progress.failure))")
          let whole = try await run(rig, server)
          #expect([.completed, .upToDate(.adopted)].contains(whole.state), "call \(number), kind \(kind)")
        }
        #expect(server.file("a.txt") == content, "call \(number), kind \(kind)")
      }
    }
  }
}
