import JobModel
import Synchronization
import Testing

@testable import Admission

/// Who is let through to a host, and when, under a clock that the test moves.
@Suite(.timeLimit(.minutes(30))) struct AdmissionQueueTests {
  private let host = "http://h"

  private final class Notes: Sendable {
    let news = Mutex<[String]>([])
  }

  /// A queue, and those who came to it, by name.
  private final class Crowd: Sendable {
    let clock = ManualClock()
    let queue: AdmissionQueue
    let notes = Notes()
    private let admitted = Mutex<[(name: String, permit: RequestPermit)]>([])
    private let refused = Mutex<[String: any Error]>([:])

    init(hasNetwork: (@Sendable (String) -> Bool)? = nil) {
      let (clock, notes) = (clock, notes)
      queue = AdmissionQueue(
        executor: clock.executor, sleep: { try await clock.sleep(seconds: $0) }, now: { clock.now },
        random: { 0.5 }, hasNetwork: hasNetwork,
        report: { news in notes.news.withLock { $0.append(news.change.word) } })
    }

    func outlook(_ host: String?, _ policy: EffectivePolicy) async -> TransferOutlook {
      await queue.outlook(group: 0, host: host, policy)
    }
    func begin(_ seq: Int64, _ policy: EffectivePolicy) async -> TransferPermit {
      await queue.begin(seq, group: 0, policy) { nil }
    }

    var names: [String] { admitted.withLock { $0.map(\.name) } }
    func permit(_ name: String) throws -> RequestPermit {
      try #require(
        admitted.withLock { $0.first { $0.name == name } }?.permit, "\(name) was not let through")
    }
    func error(_ name: String) -> (any Error)? { refused.withLock { $0[name] } }

    /// Comes to the queue; those who come one after the other stand in that order.
    @discardableResult
    func come(_ name: String, to host: String, _ policy: EffectivePolicy) async -> Task<Void, Never> {
      let task = Task {
        do {
          let permit = try await queue.enter(AdmissionRequest(host, policy, nil))
          admitted.withLock { $0.append((name, permit)) }
        } catch {
          refused.withLock { $0[name] = error }
        }
      }
      await settle()
      return task
    }

    /// Lets everything run that can.
    func settle() async {
      for _ in 0..<20 {
        _ = await outlook("http://nobody", EffectivePolicy())
        await Task.yield()
      }
    }

    func response(_ name: String, _ status: Int = 200, retryAfter: Double? = nil) async throws {
      await queue.answered(try permit(name), status: status, retryAfter: retryAfter)
      await settle()
    }

    func leave(_ name: String, _ failure: Failure? = nil) async throws {
      await queue.leave(try permit(name), failure: failure)
      await settle()
    }

    func advance(to time: Double) async {
      clock.advance(to: time)
      await settle()
    }

    /// Moves time on once somebody waits for it, and waits for what that brings.
    func outlast(_ time: Double, _ isThere: () async -> Bool) async {
      for _ in 0..<5000 where !clock.sleeps { await settle() }
      await advance(to: time)
      for _ in 0..<5000 where await !isThere() { await settle() }
    }

    /// Waits for what another thread brings.
    func until(_ names: [String]) async {
      for _ in 0..<5000 where self.names != names {
        await settle()
        try? await Task.sleep(for: .milliseconds(2))
      }
    }
  }

  private func policy(_ perHost: Int = 8, total: Int = 16, transfers: Int = 8) -> EffectivePolicy {
    var policy = EffectivePolicy()
    policy.transfers = .number(transfers)
    policy.connectionsPerHost = .number(perHost)
    policy.connectionsTotal = .number(total)
    policy.retryJitter = .none
    policy.retryInitial = 1
    policy.retryMax = 60
    policy.retryAttempts = 3
    return policy
  }

  private func crowd(_ names: [String], _ policy: EffectivePolicy) async -> Crowd {
    let crowd = Crowd()
    for name in names { await crowd.come(name, to: host, policy) }
    return crowd
  }

  private let silence = Failure(.networkUnreachable, "refused")

  /// One request finds out whether it is there; its answer's head, not its end, lets all others go: one round trip.
  @Test func whoHasNotAnsweredYetHoldsTheOthersForOneAnswer() async throws {
    let crowd = await crowd(["a", "b", "c", "d"], policy())
    #expect(crowd.names == ["a"])
    await crowd.come("other", to: "http://elsewhere", policy())
    #expect(crowd.names == ["a", "other"])
    try await crowd.response("a", 404)
    #expect(crowd.names == ["a", "other", "b", "c", "d"])
  }

  /// A transfer whose host has been silent for a moment, and another that has its permit meanwhile.
  private func silenced(_ crowd: Crowd, _ policy: EffectivePolicy) async throws -> (
    transfer: TransferPermit, request: RequestPermit, other: TransferPermit
  ) {
    let transfer = await crowd.begin(1, policy)
    #expect(await crowd.outlook(nil, policy) == .full)
    let request = try await crowd.queue.enter(AdmissionRequest(host, policy, transfer))
    await crowd.outlast(0.6) { await crowd.outlook(nil, policy) == .free }
    #expect(await crowd.outlook(nil, policy) == .free)
    return (transfer, request, await crowd.begin(2, policy))
  }

  /// While a host has said nothing, its transfer's permit is others'; what it sends later needs one again.
  @Test func aSilentHostHoldsNoPermit() async throws {
    let (crowd, policy) = (Crowd(), policy(transfers: 1))
    let (transfer, request, other) = try await silenced(crowd, policy)
    await crowd.queue.answered(request, status: 200, retryAfter: nil)
    await crowd.queue.leave(request, failure: nil)
    let entered = Counter()
    let again = Task {
      let permit = try await crowd.queue.enter(AdmissionRequest(host, policy, transfer))
      entered.add()
      return permit
    }
    await crowd.settle()
    #expect(entered.value == 0)
    await crowd.queue.end(other)
    // Whoever had one before has the permit, before anybody new begins.
    #expect(await crowd.outlook(nil, policy) == .full)
    await crowd.queue.leave(try await again.value, failure: nil)
    await crowd.queue.end(transfer)
    #expect(await crowd.outlook(nil, policy) == .free)
  }

  @Test func aHostThatAnswersAtOnceKeepsItsTransfersPermit() async throws {
    let (crowd, policy) = (Crowd(), policy(transfers: 1))
    let transfer = await crowd.begin(1, policy)
    let request = try await crowd.queue.enter(AdmissionRequest(host, policy, transfer))
    await crowd.queue.answered(request, status: 200, retryAfter: nil)
    await crowd.outlast(0.6) { true }
    #expect(await crowd.outlook(nil, policy) == .full)
    #expect(await crowd.queue.mayMove(request))
  }

  /// Another host's first request, which may take an hour, says nothing of this one.
  @Test func aHostIsAwaitedForAMoment() async throws {
    let (crowd, policy) = (Crowd(), policy())
    let first = try await crowd.queue.enter(AdmissionRequest(host, policy, await crowd.begin(1, policy)))
    #expect(await crowd.outlook(host, policy) == .awaited)
    await crowd.queue.answered(first, status: 200, retryAfter: nil)
    #expect(await crowd.outlook(host, policy) == .free)
    _ = try await crowd.queue.enter(AdmissionRequest("http://silent", policy, await crowd.begin(2, policy)))
    #expect(await crowd.outlook("http://silent", policy) == .awaited)
    await crowd.outlast(0.6) { await crowd.outlook("http://silent", policy) == .shut }
    #expect(await crowd.outlook("http://silent", policy) == .shut)
  }

  /// One that speaks late moves no body beside those who have its permit: it takes a free one, or asks again with one.
  @Test(arguments: [true, false]) func aHostThatSpeaksLateTakesItsPermitBack(_ isFree: Bool)
    async throws
  {
    let (crowd, policy) = (Crowd(), policy(transfers: 1))
    let (transfer, request, other) = try await silenced(crowd, policy)
    if isFree { await crowd.queue.end(other) }
    await crowd.queue.answered(request, status: 200, retryAfter: nil)
    #expect(await crowd.queue.mayMove(request) == isFree)
    await crowd.queue.leave(request, failure: nil)
    let entered = Counter()
    let again = Task {
      let permit = try await crowd.queue.enter(AdmissionRequest(host, policy, transfer))
      entered.add()
      return permit
    }
    for _ in 0..<500 where entered.value == 0 { await crowd.settle() }
    #expect(entered.value == (isFree ? 1 : 0))
    if !isFree { await crowd.queue.end(other) }
    await crowd.queue.leave(try await again.value, failure: nil)
    await crowd.queue.end(transfer)
    #expect(await crowd.outlook(nil, policy) == .free)
  }

  /// What a cancelled transfer, or one that has ended, still sends clears up: it waits for no permit.
  @Test(arguments: [true, false]) func whatClearsUpNeedsNoPermit(_ isCancelled: Bool) async throws {
    let (crowd, policy) = (Crowd(), policy(transfers: 1))
    let (transfer, request, other) = try await silenced(crowd, policy)
    await crowd.queue.leave(request, failure: nil)
    let waiting = Task { try await crowd.queue.enter(AdmissionRequest("http://elsewhere", policy, transfer)) }
    await crowd.settle()
    if isCancelled { await crowd.queue.cancel(transfer) } else { await crowd.queue.end(transfer) }
    await crowd.queue.leave(try await waiting.value, failure: nil)
    await crowd.queue.end(transfer)
    #expect(await crowd.outlook(nil, policy) == .full)
    await crowd.queue.end(other)
    #expect(await crowd.outlook(nil, policy) == .free)
  }

  /// While a transfer waits before its next try, others may begin; its next request waits for a permit.
  @Test func aPauseLeavesThePermitToOthers() async throws {
    let (crowd, policy) = (Crowd(), policy(transfers: 1))
    let transfer = await crowd.begin(1, policy)
    let pause = Task { try await crowd.queue.pause(transfer, seconds: 5) }
    for _ in 0..<5000 where await crowd.outlook(nil, policy) == .full { await crowd.settle() }
    let other = await crowd.begin(2, policy)
    await crowd.outlast(5.1) { true }
    try await pause.value
    #expect(await crowd.outlook(nil, policy) == .full)
    await crowd.queue.end(other)
    _ = try await crowd.queue.enter(AdmissionRequest(host, policy, transfer))
    #expect(await crowd.outlook(nil, policy) == .full)
    await crowd.queue.end(transfer)
    #expect(await crowd.outlook(nil, policy) == .free)
  }

  /// A lost network is no fault of the host that could not be reached: its requests wait for the network.
  @Test func aLostNetworkIsWaitedFor() async throws {
    let isThere = Mutex(false)
    let crowd = Crowd(hasNetwork: { _ in isThere.withLock { $0 } })
    await crowd.come("a", to: host, policy())
    try await crowd.leave("a", silence)
    await crowd.come("b", to: host, policy())
    #expect(crowd.names == ["a"])
    #expect(await crowd.outlook(host, policy()) == .shut)
    await crowd.outlast(1.1) { true }
    #expect(crowd.names == ["a"])
    isThere.withLock { $0 = true }
    await crowd.outlast(2.2) { crowd.names == ["a", "b"] }
    #expect(crowd.names == ["a", "b"])
    #expect(crowd.notes.news.withLock { $0 } == ["no_network", "network_back"])
  }

  /// So does a body that it takes: a long upload is no round trip.
  @Test func aBodyThatIsTakenLetsTheOthersGo() async throws {
    let crowd = await crowd(["a", "b"], policy())
    #expect(await crowd.queue.mayMove(try crowd.permit("a")))
    await crowd.settle()
    #expect(crowd.names == ["a", "b"])
  }

  struct Room: Sendable, CustomStringConvertible {
    var perHost: Int
    var total: Int
    /// Of five who come to one host and then two to another: who is let through at once.
    var atOnce: [String]
    /// And when the first has left.
    var next: [String]
    var description: String { "\(perHost) a host, \(total) in all" }
  }

  @Test(arguments: [
    Room(perHost: 2, total: 16, atOnce: ["1", "2", "x", "y"], next: ["3"]),
    Room(perHost: 8, total: 3, atOnce: ["1", "2", "3"], next: ["4"]),
    Room(perHost: 1, total: 2, atOnce: ["1", "x"], next: ["2"]),
    Room(perHost: 8, total: 16, atOnce: ["1", "2", "3", "4", "5", "x", "y"], next: []),
  ]) func connectionsAreKeptTo(_ room: Room) async throws {
    let policy = policy(room.perHost, total: room.total)
    let crowd = Crowd()
    for host in [host, "http://elsewhere"] {
      await crowd.come(host, to: host, self.policy())
      try await crowd.response(host)
    }
    for name in ["1", "2", "3", "4", "5"] { await crowd.come(name, to: host, policy) }
    for name in ["x", "y"] { await crowd.come(name, to: "http://elsewhere", policy) }
    let proofs = [host, "http://elsewhere"]
    #expect(crowd.names == proofs + room.atOnce)
    try await crowd.leave("1")
    #expect(crowd.names == proofs + room.atOnce + room.next)
  }

  @Test func anIllHostIsAskedByOneAfterItsRest() async throws {
    let crowd = await crowd(["a", "b", "c"], policy())
    try await crowd.leave("a", silence)
    #expect(crowd.names == ["a"])
    // Those who wait have not asked yet: nobody is begun besides.
    #expect(await crowd.outlook(host, policy()) == .shut)
    #expect(crowd.names == ["a"])
    // The first backoff is over.
    await crowd.advance(to: 1.1)
    await crowd.until(["a", "b"])
    #expect(crowd.names == ["a", "b"])
    try await crowd.leave("b", silence)
    // The next one is twice as long.
    await crowd.advance(to: 2.9)
    #expect(crowd.names == ["a", "b"])
    await crowd.advance(to: 3.2)
    await crowd.until(["a", "b", "c"])
    await crowd.come("d", to: host, policy())
    #expect(crowd.names == ["a", "b", "c"])
    try await crowd.response("c")
    // It waits aside until it is told, and then goes like anyone.
    await crowd.until(["a", "b", "c", "d"])
    #expect(crowd.names == ["a", "b", "c", "d"])
    #expect(
      crowd.notes.news.withLock { $0 } == ["opened", "probing", "opened", "probing", "closed"])
  }

  @Test func aRestThatIsAskedForIsKept() async throws {
    let crowd = Crowd()
    for name in ["a", "b", "c", "d"] {
      await crowd.come(name, to: host, policy())
      if name == "a" { try await crowd.response("a") }
    }
    #expect(crowd.names == ["a", "b", "c", "d"])
    try await crowd.response("b", 429, retryAfter: 5)
    for name in ["a", "b", "c", "d"] { try await crowd.leave(name) }
    for name in ["e", "f", "g"] { await crowd.come(name, to: host, policy()) }
    await crowd.come("x", to: "http://elsewhere", policy())
    await crowd.advance(to: 4.9)
    #expect(crowd.names == ["a", "b", "c", "d", "x"])
    #expect(await crowd.outlook(host, policy()) != .free)
    await crowd.advance(to: 5.1)
    // Four were under way: half as many from then on.
    await crowd.until(["a", "b", "c", "d", "x", "e", "f"])
    #expect(crowd.names.dropLast(2) == ["a", "b", "c", "d", "x"])
    #expect(Set(crowd.names.suffix(2)) == ["e", "f"])
    try await crowd.leave("e")
    await crowd.until(["a", "b", "c", "d", "x", "e", "f", "g"])
    #expect(crowd.names.last == "g")
  }

  @Test func longerRestsAreRefused() async throws {
    let crowd = await crowd(["a"], policy())
    try await crowd.response("a", 429, retryAfter: 3600)
    await crowd.come("b", to: host, policy())
    let failure = try #require(crowd.error("b") as? Failure)
    #expect(failure.code == .rateLimited && failure.retryAfter == 3600)
  }

  @Test func whoGivesUpWaitingLeavesNoTrace() async throws {
    let crowd = Crowd()
    await crowd.come("a", to: host, policy(1))
    try await crowd.response("a")
    let waiting = await crowd.come("b", to: host, policy(1))
    await crowd.come("c", to: host, policy(1))
    waiting.cancel()
    await waiting.value
    #expect(crowd.error("b") is CancellationError)
    try await crowd.leave("a")
    #expect(crowd.names == ["a", "c"])
  }

  /// Whoever lines up transfers hears that a host may be open again: no polling.
  @Test func openingsAreTold() async throws {
    let crowd = await crowd(["a"], policy())
    let counter = Counter()
    await crowd.queue.onOpening { counter.add() }
    #expect(await crowd.outlook(host, policy()) != .free)
    try await crowd.response("a")
    #expect(counter.value > 0)
    #expect(await crowd.outlook(host, policy()) == .free)
    let before = counter.value
    try await crowd.response("a", 503, retryAfter: 2)
    #expect(await crowd.outlook(host, policy()) != .free)
    await crowd.advance(to: 2.1)
    for _ in 0..<5000 where counter.value <= before + 1 { await crowd.settle() }
    #expect(counter.value > before)
    #expect(await crowd.outlook(host, policy()) == .free)
  }

  private final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
  }

  /// A transfer that waits as long as a server asked goes on when a user wants it; a back-off of our own lasts.
  @Test(arguments: [true, false]) func whatEndsAWaitBetweenTwoTries(_ isCooldown: Bool) async throws {
    let crowd = Crowd()
    let transfer = await crowd.begin(1, policy())
    let pause = Task { try await crowd.queue.pause(transfer, seconds: 60, isCooldown: isCooldown) }
    for _ in 0..<5000 where !crowd.clock.sleeps { await crowd.settle() }
    await crowd.queue.endCooldowns()
    for _ in 0..<5000 where isCooldown && crowd.clock.sleeps { await crowd.settle() }
    #expect(crowd.clock.sleeps == !isCooldown)
    await crowd.advance(to: 60)
    try await pause.value
  }

  @Test func aCooldownEndsWithItsTransfer() async throws {
    let crowd = Crowd()
    let transfer = await crowd.begin(1, policy())
    let pause = Task { try await crowd.queue.pause(transfer, seconds: 60, isCooldown: true) }
    for _ in 0..<5000 where !crowd.clock.sleeps { await crowd.settle() }
    pause.cancel()
    await #expect(throws: CancellationError.self) { try await pause.value }
    #expect(!crowd.clock.sleeps)
  }
}
