import Maintenance
import Scheduler

@testable import HTTPClient
import Endpoints
import Foundation
import JobLedger
import JobModel
import LocalFiles
import Synchronization
import Testing
import Transfers

/// Windows, schedules, deadlines, budgets, failures and rests, under a clock that sleeping moves.
struct PolicyTimeTests {
  /// A job of many transfers over a scripted network; each attempt begins at a given time.
  private final class Bench: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/haul-time-" + UUID().uuidString
    let now: Mutex<Double>
    let settings: [TransferSettings]

    init(at time: String, _ settings: [TransferSettings]) throws {
      now = Mutex(try #require(Timestamp.seconds(time)))
      self.settings = settings
      for folder in ["/state", "/work"] {
        try FileManager.default.createDirectory(atPath: path + folder, withIntermediateDirectories: true)
      }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    struct Outcome {
      var states: [String]
      var sent: [(path: String, at: Double)]
      var events: [EngineEvent]
      var ended: Double
      var stopped: StopCause?

      var holds: [Hold] { events.compactMap { if case .held(_, let hold) = $0 { hold } else { nil } } }
      var releases: Int { events.count { if case .released = $0 { true } else { false } } }
    }

    /// - Parameters:
    ///   - step: seconds that each request takes.
    ///   - waits: false for `--no-wait`.
    func run(
      waits: Bool = true, step: Double = 0, limit: Bandwidth? = nil, limits: JobLimits = JobLimits(),
      _ response: @escaping @Sendable (Sent) -> Reply = { _ in
        Reply(status: 200, headers: ["Content-Length": "1000"], body: pattern(1000))
      }
    ) async throws -> Outcome {
      let ledger = try JobLedger(folder: path + "/state", mayMigrate: true)
      _ = try ledger.compile { add in
        for (index, settings) in settings.enumerated() {
          let name = "t\(index)"
          let entry = PlannedTransfer(
            id: name, source: Place("http://h/\(name)"), destination: Place(name), destinationIdentity: name,
            settings: settings, expect: JobModel.Expectation(),
            mark: SourceMark(file: "job", line: 1, column: 1), takesSourceName: false)
          try add(entry, [UInt8](repeating: UInt8(index % 250), count: 7) + [UInt8(index / 250)])
        }
      }
      let began = now.withLock { $0 }
      let last = try ledger.lastRun()
      let run =
        if let last, !last.isOver { try ledger.startAttempt(run: last.number, at: began) } else {
          try ledger.startRun(id: "run\(last?.number ?? 0)", overrides: [:], at: began)
        }
      let times = Mutex<[(path: String, at: Double)]>([])
      let latency = step > 0 ? Duration.milliseconds(10) : nil
      let transport = ScriptedTransport(latency: latency) { [self] sent in
        let time = now.withLock { now in
          defer { now += step }
          return now
        }
        times.withLock { $0.append((sent.path, time)) }
        return response(sent)
      }
      // Sleeping takes no time while requests move the clock, and brings it on where nothing else happens.
      transport.onSleep.withLock {
        $0 = { [self] seconds in
          let target = now.withLock { $0 } + seconds
          var seen = -1
          while now.withLock({ $0 }) < target, times.withLock({ $0.count }) != seen {
            seen = times.withLock { $0.count }
            for _ in 0..<15 where now.withLock({ $0 }) < target {
              try? await Task.sleep(for: .milliseconds(1))
            }
          }
          // A sleep that was cancelled brings no time on.
          if !Task.isCancelled { now.withLock { $0 = max($0, target) } }
        }
      }
      let seen = Mutex<[EngineEvent]>([])
      let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
      let context = TransferContext(
        transport, writer, ledger: ledger, folder: try Folder.open(path + "/work"), run: run.number,
        clock: EngineClock(
          now: { [self] in now.withLock { $0 } }, random: { 0.5 },
          zone: { name in
            guard let zone = name.flatMap(TimeZone.init(identifier:)) else { return .utc }
            return CivilZone(
              offset: { zone.secondsFromGMT(for: Date(timeIntervalSince1970: $0)) },
              nextChange: {
                zone.nextDaylightSavingTimeTransition(after: Date(timeIntervalSince1970: $0))?
                  .timeIntervalSince1970
              })
          }), limits: limits, events: { event in seen.withLock { $0.append(event) } })
      let engine = TransferEngine(
        context, maintenance: MaintenanceContext(context), network: .test, selected: nil, failFast: false,
        waits: waits, limit: limit)
      try await engine.run()
      try writer.close()
      let stopped = await engine.stopped
      let counts = try ledger.counts()
      let end = counts.outcome(endedByFailFast: stopped == .failFast)
      let ended = now.withLock { $0 }
      try ledger.endAttempt(
        run: run.number, outcome: end.outcome, exitCode: end.status.rawValue,
        isOver: counts.isOver(endedByFailFast: stopped == .failFast), bytesTransferred: 0, scope: nil,
        at: ended)
      return Outcome(
        states: try ledger.page(after: 0, onlyTouched: false, limit: 1000).map {
          $0.state.word + ($0.state.reason.map { " " + $0 } ?? "")
        }, sent: times.withLock { $0 }, events: seen.withLock { $0 }, ended: ended, stopped: stopped)
    }
  }

  private func settings(_ name: String = "p", _ change: (inout EffectivePolicy) -> Void) -> TransferSettings {
    var settings = TransferSettings(direction: .download)
    settings.policyName = name
    settings.chunkSize = .bytes(1000)
    settings.policy.chunksInFlight = 1
    settings.policy.transfers = 1
    settings.policy.retryAttempts = 2
    settings.policy.retryJitter = .none
    change(&settings.policy)
    return settings
  }

  private func at(_ text: String) throws -> Double { try #require(Timestamp.seconds(text)) }

  @Test func aRunWaitsForItsWindow() async throws {
    let night = settings {
      $0.timezone = "Europe/Berlin"
      $0.window = [TimeWindow(from: 22 * 60, to: 6 * 60)]
    }
    let bench = try Bench(at: "2026-03-28T20:00:00Z", [night, night, settings("day") { _ in }])
    let outcome = try await bench.run()
    #expect(outcome.states == ["completed", "completed", "completed"])
    let first = try #require(outcome.sent.first { $0.path == "/t0" })
    let opening = try at("2026-03-28T21:00:00Z")
    #expect(first.at >= opening && first.at < opening + 180)
    // Another policy's transfers do not wait with it.
    #expect(outcome.sent.contains { $0.path == "/t2" && $0.at < first.at })
    #expect(outcome.holds == [Hold(.window, until: opening)] && outcome.releases == 1)
  }

  @Test func aDeadlineEndsTheWaitForAWindow() async throws {
    let night = settings {
      $0.window = [TimeWindow(from: 22 * 60, to: 6 * 60)]
      $0.deadline = 60
    }
    let bench = try Bench(at: "2026-03-28T20:00:00Z", [night, night])
    let outcome = try await bench.run()
    #expect(outcome.states == ["paused window", "paused window"] && outcome.sent.isEmpty)
    #expect(outcome.holds.map(\.reason) == [.window, .deadline])
  }

  @Test func withoutWaitingItEnds() async throws {
    let night = settings { $0.window = [TimeWindow(from: 22 * 60, to: 6 * 60)] }
    let bench = try Bench(at: "2026-03-28T20:00:00Z", [night, settings("day") { _ in }])
    let outcome = try await bench.run(waits: false)
    #expect(outcome.states == ["paused window", "completed"])
    let early = try at("2026-03-28T21:00:00Z")
    #expect(outcome.ended < early)
    bench.now.withLock { $0 += 2 * 3600 }
    #expect(try await bench.run(waits: false).states == ["completed", "completed"])
  }

  @Test func aWindowThatClosesPausesWhatIsLeft() async throws {
    let night = settings { $0.window = [TimeWindow(from: 22 * 60, to: 6 * 60)] }
    let bench = try Bench(at: "2026-06-02T05:59:00Z", Array(repeating: night, count: 6))
    // Each request takes 25 s: the window closes amid them.
    let outcome = try await bench.run(step: 25)
    #expect(outcome.states == Array(repeating: "completed", count: 6))
    let (close, open) = (try at("2026-06-02T06:00:00Z"), try at("2026-06-02T22:00:00Z"))
    let before = outcome.sent.count { $0.at < close }
    // One request may begin before the clock is looked at again.
    #expect(before >= 2 && outcome.sent.count { $0.at >= close && $0.at < open } <= 2)
    #expect(outcome.sent.contains { $0.at >= open })
    #expect(
      outcome.events.contains { if case .state(_, _, .paused(.window), _, _) = $0 { true } else { false } })
  }

  @Test func ratesChangeWhenAnEntryBegins() async throws {
    let office = settings {
      $0.downloadRate = .bytesPerSecond(1000)
      $0.schedule = [
        ScheduleEntry(window: TimeWindow(from: 480, to: 540), download: .bytesPerSecond(10), upload: nil)
      ]
      $0.window = [TimeWindow(from: 490, to: 550)]
    }
    let bench = try Bench(at: "2026-06-02T07:50:00Z", [office])
    let outcome = try await bench.run()
    let rates = outcome.events.compactMap {
      if case .bandwidth("p", let bandwidth) = $0 { bandwidth?.download } else { nil }
    }
    #expect(rates == [.bytesPerSecond(10)] && outcome.states == ["completed"])
  }

  @Test func aDeadlineEndsItsOwnPolicyOnly() async throws {
    let short = settings { $0.deadline = 60 }
    let long = settings("long") { $0.deadline = 3600 }
    let bench = try Bench(
      at: "2026-06-02T12:00:00Z", Array(repeating: short, count: 8) + Array(repeating: long, count: 8))
    let outcome = try await bench.run(step: 12)
    #expect(outcome.states[8...].allSatisfy { $0 == "completed" })
    #expect(outcome.states[..<8].contains("completed") && outcome.states[7] == "paused deadline")
    #expect(outcome.states[..<8].allSatisfy { $0 == "completed" || $0 == "paused deadline" })
    #expect(outcome.holds.contains(Hold(.deadline, until: nil)) && outcome.stopped == nil)
    // The next attempt has its own.
    let next = try await bench.run(step: 1)
    func done(_ outcome: Bench.Outcome) -> Int { outcome.states.count { $0 == "completed" } }
    #expect(done(next) > done(outcome))
  }

  @Test func aBudgetOutlivesRuns() async throws {
    let metered = settings {
      $0.timezone = "America/New_York"
      $0.budget = Budget(bytes: 2500, period: .day)
    }
    let bench = try Bench(at: "2026-11-01T12:00:00Z", Array(repeating: metered, count: 6))
    let first = try await bench.run(step: 1)
    let end = try at("2026-11-02T05:00:00Z")
    #expect(first.states.filter { $0 == "paused budget" }.count >= 3, "\(first.states)")
    #expect(first.holds == [Hold(.budget, until: end)])
    let done = first.states.filter { $0 == "completed" }.count
    #expect(done >= 2)
    // Spent is spent, in another run too.
    let second = try await bench.run(step: 1)
    #expect(second.sent.isEmpty && second.states.filter { $0 == "completed" }.count == done)
    bench.now.withLock { $0 = end }
    let third = try await bench.run(step: 1)
    #expect(third.states.filter { $0 == "completed" }.count > done)
  }

  /// Its last byte is the second file's: that needs no more, and ends as it would have.
  @Test func whatABudgetPaidForIsCompleted() async throws {
    let metered = settings { $0.budget = Budget(bytes: 2000, period: .day) }
    let bench = try Bench(at: "2026-06-02T12:00:00Z", Array(repeating: metered, count: 3))
    let outcome = try await bench.run(step: 1)
    #expect(outcome.states == ["completed", "completed", "paused budget"])
    #expect(outcome.holds.map(\.reason) == [.budget])
  }

  /// What `limits` allows is spent by all policies, and kept beside what each of them spends.
  @Test func theJobsBudgetIsSpentByAllPolicies() async throws {
    let metered = settings("metered") { $0.budget = Budget(bytes: 50_000, period: .day) }
    let free = settings("free") { _ in }
    var limits = JobLimits()
    limits.budget = Budget(bytes: 2500, period: .day)
    let bench = try Bench(at: "2026-06-02T12:00:00Z", [metered, free, metered, free, metered, free])
    let first = try await bench.run(step: 1, limits: limits)
    let midnight = try at("2026-06-03T00:00:00Z")
    #expect(first.holds == [Hold(.budget, until: midnight), Hold(.budget, until: midnight)])
    let done = first.states.filter { $0 == "completed" }.count
    #expect(done >= 2 && first.states.count { $0 == "paused budget" } == 6 - done, "\(first.states)")
    #expect(try await bench.run(step: 1, limits: limits).sent.isEmpty)
    // Without it the policies' own budgets count, and what the job spent was spent under them.
    let third = try await bench.run(step: 1)
    #expect(third.states == Array(repeating: "completed", count: 6))
  }

  /// A run that lasts beyond the period gives back what the budget held.
  @Test func aBudgetGoesOnWithTheNextPeriod() async throws {
    let metered = settings { $0.budget = Budget(bytes: 1500, period: .day) }
    let late = settings("late") { $0.window = [TimeWindow(from: 2, to: 120)] }
    let bench = try Bench(at: "2026-06-02T23:59:00Z", [metered, metered, metered, late])
    let outcome = try await bench.run(step: 1)
    let midnight = try at("2026-06-03T00:00:00Z")
    #expect(outcome.states[3] == "completed" && outcome.holds.contains(Hold(.budget, until: midnight)))
    #expect(outcome.sent.contains { $0.path != "/t3" && $0.at >= midnight }, "\(outcome.states)")
  }

  @Test func onePolicyRefinedHasItsOwnHours() async throws {
    let night = settings { $0.window = [TimeWindow(from: 22 * 60, to: 6 * 60)] }
    let refined = settings { $0.window = [] }
    let bench = try Bench(at: "2026-06-02T12:00:00Z", [night, refined])
    #expect(try await bench.run(waits: false).states == ["paused window", "completed"])
  }

  @Test(arguments: [(3, nil, 3), (nil, 0.5, 10), (50, 0.2, 10)] as [(Int?, Double?, Int)])
  func failuresEndARun(failures: Int?, share: Double?, sent: Int) async throws {
    let fragile = settings {
      $0.failFastFailures = failures
      $0.failFastShare = share
    }
    let bench = try Bench(at: "2026-06-02T12:00:00Z", Array(repeating: fragile, count: 40))
    let outcome = try await bench.run { _ in .status(404) }
    #expect(outcome.stopped == .failFast)
    #expect(outcome.states.filter { $0 == "failed" }.count == sent, "\(outcome.states)")
    #expect(outcome.states.last == "queued fail_fast")
  }

  /// It waits for nothing: what it needs is what ended the run.
  @Test func whatNeedsTheFailureHadNoTurnEither() async throws {
    let fragile = settings { $0.failFastFailures = 1 }
    var needy = fragile
    needy.needs = ["t0"]
    let bench = try Bench(at: "2026-06-02T12:00:00Z", [fragile, needy])
    let outcome = try await bench.run { _ in .status(404) }
    #expect(outcome.stopped == .failFast && outcome.states == ["failed", "queued fail_fast"])
  }

  /// The tenth to end is none that failed: it makes a share of what failed before.
  @Test func aShareIsJudgedAtEachEnd() async throws {
    let fragile = settings { $0.failFastShare = 0.5 }
    let bench = try Bench(at: "2026-06-02T12:00:00Z", Array(repeating: fragile, count: 40))
    let outcome = try await bench.run { sent in
      guard sent.number > 9 else { return .status(404) }
      return Reply(status: 200, headers: ["Content-Length": "1000"], body: pattern(1000))
    }
    #expect(outcome.stopped == .failFast && outcome.states.count { $0 == "failed" } == 9, "\(outcome.states)")
    #expect(outcome.states.last == "queued fail_fast")
  }

  @Test func aShareOfFewIsNoShare() async throws {
    let fragile = settings { $0.failFastShare = 0.2 }
    let bench = try Bench(at: "2026-06-02T12:00:00Z", Array(repeating: fragile, count: 9))
    let outcome = try await bench.run { _ in .status(404) }
    #expect(outcome.stopped == nil && outcome.states.allSatisfy { $0 == "failed" })
  }

  /// What a server asked for holds for the next run too; other servers' transfers do not wait.
  @Test func aRunStartedAgainLetsAServerRest() async throws {
    let plain = settings { _ in }
    let bench = try Bench(at: "2026-06-02T12:00:00Z", [plain, plain])
    let first = try await bench.run { _ in .status(429, ["Retry-After": "3600"]) }
    #expect(first.states.allSatisfy { $0.hasPrefix("paused retries") })
    let told = try #require(first.sent.last?.at)
    let soon = try await bench.run(waits: false)
    #expect(soon.sent.isEmpty && soon.states == ["paused retries", "paused retries"])
    let second = try await bench.run()
    #expect(second.states == ["completed", "completed"])
    let again = try #require(second.sent.first?.at)
    #expect(again >= told + 3600)
    #expect(second.holds.map(\.reason) == [.retries])
  }

  /// Also of what was never tried, where the run does not wait.
  @Test func whatARestHoldsBackSaysWhy() async throws {
    let bench = try Bench(at: "2026-06-02T12:00:00Z", [settings { _ in }])
    let ledger = try JobLedger(folder: bench.path + "/state", mayMigrate: true)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    writer.submit(.cooldown(origin: "http://h", until: try at("2026-06-02T13:00:00Z")))
    try await writer.barrier()
    try writer.close()
    let outcome = try await bench.run(waits: false)
    #expect(outcome.sent.isEmpty && outcome.states == ["paused retries"])
    let failure = try #require(try ledger.transfer(1)?.progress.failure)
    #expect(failure.code == .rateLimited && failure.message.contains("13:00"))
    let told = outcome.events.compactMap { event -> ErrorCode? in
      if case .state(_, _, .paused(.retries), let failure, _) = event { failure?.code } else { nil }
    }
    #expect(told == [.rateLimited])
    bench.now.withLock { $0 += 3601 }
    #expect(try await bench.run(waits: false).states == ["completed"])
    #expect(try ledger.transfer(1)?.progress.failure == nil)
  }

  @Test func aFullPolicyHoldsUpNobodyElse() async throws {
    // Ten times what is read ahead under one policy, then one of another.
    let many = settings("many") { $0.transfers = 1 }
    let other = settings("other") { $0.transfers = 1 }
    let bench = try Bench(at: "2026-06-02T12:00:00Z", Array(repeating: many, count: 700) + [other])
    let outcome = try await bench.run()
    #expect(outcome.states.allSatisfy { $0 == "completed" })
    let place = try #require(outcome.sent.firstIndex { $0.path == "/t700" })
    #expect(place < 20, "its turn came after \(place) requests")
    // Nobody had two turns, and the order is the plan's.
    let order = outcome.sent.map(\.path).filter { $0 != "/t700" }
    #expect(order == (0..<700).map { "/t\($0)" })
  }
}
