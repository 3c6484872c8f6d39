import Endpoints
import Foundation
import JobLedger
import JobModel
import Testing
import Transfers

/// Downloads that were stopped, killed or finished before.
struct DownloadResumeTests: DownloadCase {
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
    #expect(second.progress.transferred == 10_500 - reused)
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

  /// A server that knows of no HEAD answers as if the file were gone: GET decides, and is asked once where it is.
  @Test(arguments: [400, 404, 410]) func aServerWithoutHEAD(_ status: Int) async throws {
    let (rig, server) = (try Rig(.download), server())
    @Sendable func response(_ sent: Sent) -> Reply? { sent.method == "HEAD" ? .status(status) : nil }
    checkComplete(rig, try await run(rig, server, instead: response))
    let again = try await run(rig, server, instead: response)
    #expect(again.state == .upToDate(nil) && again.sent.map(\.method) == ["HEAD", "GET"])
    #expect(again.sent.last?.headers["Range"] == "bytes=0-0" && again.progress.transferred == 0)
    let gone = try await run(rig, server) { _ in .status(status) }
    #expect(gone.state == .failed && gone.sent.map(\.method) == ["HEAD", "GET"])
    #expect(gone.code == (status == 400 ? .protocolViolation : .notFound))
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

  /// What comes to be there while the bytes come is adopted, kept or refused like what was there before.
  @Test(arguments: [ExistsRule.replace, .keep, .fail], [true, false])
  func aStrangerComesMeanwhile(_ rule: ExistsRule, _ isWanted: Bool) async throws {
    for chunkSize in [1000, 100_000] as [Int64] {
      let rig = try Rig(.download, chunkSize: chunkSize) { $0.ifExists = rule }
      let there = isWanted ? content : [9, 9]
      let outcome = try await run(
        rig, server(),
        after: { sent, reply in
          if sent.number == 1 { try? rig.write("out/a", there) }
          return reply
        })
      let expected: TransferState =
        switch (rule, isWanted) {
        case (.replace, _): .completed
        case (_, true): .upToDate(.adopted)
        case (.keep, false): .skipped(.exists)
        case (.fail, false): .failed
        }
      #expect(outcome.state == expected, "\(String(describing: outcome.progress.failure))")
      #expect(outcome.code == (expected == .failed ? .destinationExists : nil))
      #expect(rig.read("out/a") == (rule == .replace ? content : there))
      guard outcome.code == nil else { continue }
      // What came is of no use, and nothing of it stays.
      #expect(rig.files == ["out/a"])
      let isUsed = expected == .completed
      #expect(outcome.progress.discarded == (isUsed ? 0 : outcome.progress.transferred))
      #expect(
        outcome.progress.chunksCompleted == (rule == .keep && !isWanted ? 0 : outcome.progress.chunksTotal))
    }
  }

  /// A file that was put there between two attempts takes the place of what the first one got.
  @Test(arguments: [true, false]) func aStrangerComesBetweenAttempts(_ isWanted: Bool) async throws {
    let rig = try Rig(.download) {
      $0.ifExists = .keep
      $0.policy.retryAttempts = 1
    }
    checkFailed(rig, try await run(rig, server()) { $0.number > 3 ? .broken() : nil }, .networkUnreachable)
    #expect(rig.files.count == 1)
    try rig.write("out/a", isWanted ? content : [9, 9])
    let outcome = try await run(rig, server())
    #expect(outcome.state == (isWanted ? .upToDate(.adopted) : .skipped(.exists)))
    #expect(rig.files == ["out/a"])
    #expect(try rig.ledger().chunks(of: 1).isEmpty)
    let progress = outcome.progress
    #expect(progress.discarded == progress.transferred && progress.reused == (isWanted ? 10_500 : 0))
    #expect(progress.chunksCompleted == (isWanted ? progress.chunksTotal : 0))
  }

  @Test(arguments: [1, 2, 4, 6]) func stoppedAnywhereItGoesOn(number: Int) async throws {
    let (rig, server) = (try Rig(.download), server())
    let stopped = try await rig.run(from: "http://h/f/a", to: "out/a", stopAt: number) { server.response($0) }
    #expect(stopped.code == nil)
    if stopped.state != .completed {
      #expect(stopped.state == .paused(.interrupted))
      let held = try rig.ledger().chunks(of: 1).reduce(0) { $0 + $1.length }
      let whole = try await run(rig, server)
      checkComplete(rig, whole)
      #expect(whole.progress.reused == held, "what was recorded is fetched again")
    }
  }

  /// All bytes of a file of one chunk came, and nothing has proved them yet: they are told, and kept.
  @Test func stoppedBeforeItsVerification() async throws {
    let (rig, server) = (
      try Rig(.download, chunkSize: 20_000), server { $0.files["a"] = pattern(19_000) }
    )
    let stopped = try await rig.run(
      from: "http://h/f/a", to: "out/a",
      stopAfter: { event in if case .chunk = event { true } else { false } },
      response: { server.response($0) })
    #expect(stopped.state == .paused(.interrupted))
    let told = stopped.progress
    #expect(told.transferred == 19_000 && told.discarded == 0 && told.contiguousBytes == 19_000)
    #expect(try rig.ledger().chunks(of: 1).map(\.length) == [19_000])
    let whole = try await run(rig, server)
    checkComplete(rig, whole, pattern(19_000))
    #expect(whole.sent.isEmpty, "what came is fetched again")
    #expect(whole.progress.transferred == 19_000 && whole.progress.reused == 19_000)
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
        let (moved, kept) = (whole.progress.transferred - whole.progress.discarded, whole.progress.reused)
        #expect(moved + kept == 5_300, "call \(number), kind \(kind)")
      }
    }
  }
}
