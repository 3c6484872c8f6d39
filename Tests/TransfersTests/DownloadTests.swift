import Endpoints
import JobLedger
import JobModel
import Synchronization
import Testing
import Transfers

/// Downloads over a scripted network: ranges, streams, and servers of every kind.
struct DownloadTests: DownloadCase {
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

  /// One back end of several that does not tell the ETag costs its requests; a server that never does, the ranges, unless a
  /// digest proves the whole.
  @Test(arguments: [(4, false), (2, false), (1, false), (1, true)] as [(Int, Bool)])
  func rangesWithoutTheirTagAreAskedForAgain(every: Int, isProved: Bool) async throws {
    let rig = try Rig(.download) { $0.policy.chunksInFlight = every == 2 ? 1 : 4 }
    let bytes = pattern(10_000)
    let outcome = try await run(
      rig,
      server {
        $0.files["a"] = bytes
        $0.givesDigests = isProved
      },
      after: { sent, reply in
        var reply = reply
        if sent.number > 1, sent.number % every == 0, reply.status == 206 { reply.headers.remove("ETag") }
        return reply
      })
    checkComplete(rig, outcome, bytes)
    #expect(
      (outcome.progress.discarded > 0) == (every == 1 && !isProved), "\(outcome.sent.count) requests")
  }

  /// So is one that is answered with everything by one back end of several; a server that goes on so is read in one stream.
  @Test(arguments: [true, false]) func aRangeAnsweredWithEverythingIsAskedForAgain(once: Bool) async throws {
    let rig = try Rig(.download) { $0.policy.chunksInFlight = 1 }
    let bytes = content
    let outcome = try await run(
      rig, server(),
      after: { sent, reply in
        guard once ? sent.number == 3 : sent.number >= 3 else { return reply }
        var headers = reply.headers
        headers.remove("Content-Range")
        return Reply(headers: headers, body: bytes)
      })
    checkComplete(rig, outcome)
    #expect((outcome.progress.discarded > 0) == !once && outcome.progress.retries == 0)
  }

  /// The ETag of the metadata is a revision's, and the bytes have that of the store behind the server: nothing has changed.
  @Test func tagsOfTwoKinds() async throws {
    let rig = try Rig(.download)
    let server = server { $0.tags["a"] = "\"own\"" }
    func run() async throws -> Rig.Outcome {
      try await rig.run(from: "api:a", to: "out/a") { server.response($0) }
    }
    let outcome = try await run()
    checkComplete(rig, outcome)
    #expect(outcome.progress.verification.contains(Verification("sha256", .server, .match)))
    let again = try await run()
    #expect(again.state == .upToDate(nil), "\(String(describing: again.code))")
    #expect(again.sent.allSatisfy { $0.path.hasSuffix("/meta") })
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
      let gets = outcome.sent.count { $0.method == "GET" }
      #expect(gets == (ranges ? 2 : cuts + 1), "a mismatch was seen where there was none")
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

  /// A run that fails each time has its number of tries, whatever others bring meanwhile.
  @Test func aRunThatAlwaysFailsIsGivenUp() async throws {
    let rig = try Rig(.download)
    let bytes = pattern(60_000)
    let outcome = try await run(rig, server { $0.files["a"] = bytes }) {
      $0.headers["Range"]?.hasPrefix("bytes=1000-") == true ? .status(500) : nil
    }
    checkFailed(rig, outcome, .serverError)
    let tried = outcome.sent.count { $0.headers["Range"]?.hasPrefix("bytes=1000-") == true }
    #expect(tried == 3, "a run was asked for \(tried) times")
  }

  /// A small file is held in memory until its checks have passed; no word of it goes out before it is on the disk.
  @Test func aSmallFileIsThereBeforeItIsTold() async throws {
    for cut in [nil, 0, 1, 4500, 10_500] as [Int?] {
      let rig = try Rig(.download, chunkSize: 100_000)
      let there = Mutex<[[String]]>([])
      let server = server()
      let outcome = try await rig.run(
        from: "http://h/f/a", to: "out/a",
        stopAfter: { event in
          if case .chunk = event { there.withLock { $0.append(rig.files) } }
          return false
        },
        response: { sent in
          var reply = server.response(sent)
          if sent.number == 1 { reply.cut = cut }
          return reply
        })
      checkComplete(rig, outcome)
      #expect(outcome.progress.discarded == 0 && outcome.progress.transferred == 10_500)
      #expect(
        there.withLock { $0.count } == 1 && there.withLock { $0.allSatisfy { $0.count == 1 } }, "\(cut ?? -1)"
      )
      // Unless its connection breaks, nothing of it is seen before it has its name.
      if cut == nil { #expect(there.withLock { $0.first } == ["out/a"]) }
    }
  }

  /// What was only in memory when the run stopped is not counted as held.
  @Test func aSmallFileThatFailsItsChecksLeavesNothing() async throws {
    let rig = try Rig(.download, chunkSize: 100_000)
    let outcome = try await rig.run(
      from: "http://h/f/a", to: "out/a",
      expect: JobModel.Expectation(digests: [.sha256: String(repeating: "0", count: 64)]),
      response: server().response)
    checkFailed(rig, outcome, .integrityMismatch)
    #expect(rig.files.isEmpty)
    #expect(outcome.progress.discarded == outcome.progress.transferred && outcome.progress.transferred > 0)
    #expect(outcome.progress.chunksCompleted == 0 && outcome.progress.intendedInode == nil)
    // The first try was never written; each that followed it was, and is told.
    let told = outcome.events.count { if case .chunk = $0 { true } else { false } }
    #expect(told == outcome.sent.count - 1)
  }

  @Test(arguments: [("Sunday, 06-Nov-94 08:49:37 GMT", false), ("yesterday", true)])
  func aTimeThatCannotBeReadIsWarnedOf(_ time: String, _ isWarned: Bool) async throws {
    let rig = try Rig(.download) { $0.keepsSourceTime = true }
    let outcome = try await run(
      rig, server(),
      after: { _, reply in
        var reply = reply
        reply.headers.append("Last-Modified", time)
        return reply
      })
    checkComplete(rig, outcome)
    let warnings = outcome.events.filter {
      if case .diagnostic(let diagnostic) = $0 { diagnostic.message.contains("Last-Modified") } else { false }
    }
    #expect(warnings.isEmpty == !isWarned)
    #expect((outcome.progress.destination?.mtime == 784_111_777_000_000_000) == !isWarned)
  }

  /// Where it is demanded, no byte is moved in vain.
  @Test func aDemandedTimeThatCannotBeRead() async throws {
    let rule = try PreserveRule(["mtime!"])
    let rig = try Rig(.download) { $0.preserve = rule }
    let outcome = try await run(
      rig, server(),
      after: { _, reply in
        var reply = reply
        reply.headers.append("Last-Modified", "yesterday")
        return reply
      })
    #expect(outcome.state == .failed && outcome.code == .attributesLost)
    #expect(outcome.progress.transferred == 0 && rig.files.isEmpty)
    #expect(outcome.progress.attributes == KeptAttributes(lost: [.mtime]))
  }

  @Test func theServerNamesTheFile() async throws {
    for (disposition, name) in [
      ("attachment; filename=\"b.txt\"", "b.txt"), ("attachment; filename=\"../../b.txt\"", "b.txt"),
      ("attachment; filename*=UTF-8''..%2F%CC%81evil", "\u{301}evil"), (nil, "a"),
    ] as [(String?, String)] {
      let rig = try Rig(.download)
      let server = server()
      let outcome = try await rig.run(from: "http://h/f/a", to: "out/") { sent in
        var reply = server.response(sent)
        if let disposition { reply.headers.append("Content-Disposition", disposition) }
        return reply
      }
      #expect(outcome.state == .completed)
      #expect(rig.files.map { Array($0.utf8) } == [Array("out/\(name)".utf8)])
    }
  }
}
