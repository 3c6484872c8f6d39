import JobModel
import Synchronization
import Testing

@testable import TransferEngine

extension HostGate {
  /// A slot belongs to the transport's executor.
  fileprivate func grant(_ slot: Slot) { slot.granted() }
}

/// Who is let through to a host, and when, under a clock that the test moves.
@Suite(.timeLimit(.minutes(5))) struct HostGateTests {
  private let host = "http://h"

  private final class Notes: Sendable {
    let news = Mutex<[String]>([])
  }

  /// A gate, and those who came to it, by name.
  private final class Crowd: Sendable {
    let transport = ManualTransport()
    let gate: HostGate
    let notes = Notes()
    private let admitted = Mutex<[(name: String, pass: HostGate.Pass)]>([])
    private let refused = Mutex<[String: any Error]>([:])

    init() {
      let (transport, notes) = (transport, notes)
      gate = HostGate(
        transport: transport, now: { transport.now }, random: { 0.5 },
        tell: { news in notes.news.withLock { $0.append(news.change.word) } })
    }

    var names: [String] { admitted.withLock { $0.map(\.name) } }
    func pass(_ name: String) throws -> HostGate.Pass {
      try #require(admitted.withLock { $0.first { $0.name == name } }?.pass, "\(name) was not let through")
    }
    func error(_ name: String) -> (any Error)? { refused.withLock { $0[name] } }

    /// Comes to the gate; those who come one after the other stand in that order.
    @discardableResult
    func come(_ name: String, to host: String, _ policy: EffectivePolicy) async -> Task<Void, Never> {
      let task = Task {
        do {
          let pass = try await gate.enter(host, policy, nil)
          admitted.withLock { $0.append((name, pass)) }
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
        _ = await gate.isShut("http://nobody", EffectivePolicy())
        await Task.yield()
      }
    }

    func answer(_ name: String, _ status: Int = 200, retryAfter: Double? = nil) async throws {
      await gate.answered(try pass(name), status: status, retryAfter: retryAfter)
      await settle()
    }

    func leave(_ name: String, _ failure: Failure? = nil) async throws {
      await gate.leave(try pass(name), nil, failure: failure)
      await settle()
    }

    func advance(to time: Double) async {
      transport.advance(to: time)
      await settle()
    }

    /// Waits for what another thread brings.
    func until(_ names: [String]) async {
      for _ in 0..<5000 where self.names != names {
        await settle()
        try? await Task.sleep(for: .milliseconds(2))
      }
    }
  }

  private func policy(_ perHost: Int = 8, total: Int = 16) -> EffectivePolicy {
    var policy = EffectivePolicy()
    policy.connectionsPerHost = perHost
    policy.connectionsTotal = total
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
    try await crowd.answer("a", 404)
    #expect(crowd.names == ["a", "other", "b", "c", "d"])
  }

  /// While a host has said nothing, its transfer's place is others'; what it sends later needs one again.
  @Test func aSilentHostHoldsNoPlace() async throws {
    for speaks in [true, false] {
      let crowd = Crowd()
      let (given, taken) = (Counter(), Counter())
      let key = PolicyGroup.Key(number: 0)
      let slot = Slot(1, key, connections: ConnectionUse(), give: { given.add() }, take: { _ in taken.add() })
      let pass = try await crowd.gate.enter(host, policy(), slot)
      if speaks { await crowd.gate.answered(pass, status: 200, retryAfter: nil) }
      for _ in 0..<5000 where !crowd.transport.sleeps { await crowd.settle() }
      await crowd.advance(to: 0.6)
      for _ in 0..<500 where given.value == 0 { await crowd.settle() }
      #expect(given.value == (speaks ? 0 : 1))
      await crowd.gate.answered(pass, status: 200, retryAfter: nil)
      await crowd.gate.leave(pass, slot, failure: nil)
      let again = Task { try await crowd.gate.enter(host, policy(), slot) }
      await crowd.settle()
      #expect(taken.value == (speaks ? 0 : 1))
      if !speaks { await crowd.gate.grant(slot) }
      await crowd.gate.leave(try await again.value, slot, failure: nil)
      slot.release()
      #expect(given.value == (speaks ? 1 : 2))
    }
  }

  /// Another host's first request, which may take an hour, says nothing of this one.
  @Test func aHostIsAwaitedForAMoment() async throws {
    let crowd = Crowd()
    let given = Counter()
    func slot(_ seq: Int64) -> Slot {
      Slot(
        seq, PolicyGroup.Key(number: 0), connections: ConnectionUse(), give: { given.add() }, take: { _ in })
    }
    let first = try await crowd.gate.enter(host, policy(), slot(1))
    #expect(await crowd.gate.isAwaited(host))
    await crowd.gate.answered(first, status: 200, retryAfter: nil)
    #expect(await !crowd.gate.isAwaited(host))
    _ = try await crowd.gate.enter("http://silent", policy(), slot(2))
    #expect(await crowd.gate.isAwaited("http://silent"))
    for second in 1...5000 where given.value == 0 {
      await crowd.advance(to: Double(second))
      await crowd.settle()
    }
    #expect(given.value == 1)
    #expect(await !crowd.gate.isAwaited("http://silent"))
  }

  /// One that speaks late moves no body beside those who have its place: it takes a free one, or asks again with one.
  @Test(arguments: [true, false]) func aHostThatSpeaksLateTakesItsPlaceBack(_ isFree: Bool) async throws {
    let crowd = Crowd()
    let (given, taken) = (Counter(), Counter())
    let slot = Slot(
      1, PolicyGroup.Key(number: 0), connections: ConnectionUse(), give: { given.add() },
      take: { slot in
        taken.add()
        if isFree { slot.granted() }
      })
    let pass = try await crowd.gate.enter(host, policy(), slot)
    for _ in 0..<5000 where !crowd.transport.sleeps { await crowd.settle() }
    await crowd.advance(to: 0.6)
    for _ in 0..<500 where given.value == 0 { await crowd.settle() }
    #expect(given.value == 1)
    await crowd.gate.answered(pass, status: 200, retryAfter: nil)
    #expect(await crowd.gate.takesBack(pass, slot) == isFree)
    #expect(taken.value == 1)
    await crowd.gate.leave(pass, slot, failure: nil)
    // A second request has the place that came back, or waits for the one that was asked for.
    let hasEntered = Counter()
    let again = Task {
      let pass = try await crowd.gate.enter(host, policy(), slot)
      hasEntered.add()
      return pass
    }
    for _ in 0..<500 where hasEntered.value == 0 { await crowd.settle() }
    #expect(hasEntered.value == (isFree ? 1 : 0))
    if !isFree { await crowd.gate.grant(slot) }
    await crowd.gate.leave(try await again.value, slot, failure: nil)
    #expect(taken.value == 1 && given.value == 1)
    slot.release()
    #expect(given.value == 2)
  }

  /// So does a body that it takes: a long upload is no round trip.
  @Test func aBodyThatIsTakenLetsTheOthersGo() async throws {
    let crowd = await crowd(["a", "b"], policy())
    await crowd.gate.connected(try crowd.pass("a"))
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
      try await crowd.answer(host)
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
    let gate = crowd.gate
    // Those who wait have not asked yet: nobody is begun besides.
    #expect(await gate.isShut(host, policy()))
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
    try await crowd.answer("c")
    // It waits aside until it is told, and then goes like anyone.
    await crowd.until(["a", "b", "c", "d"])
    #expect(crowd.names == ["a", "b", "c", "d"])
    #expect(crowd.notes.news.withLock { $0 } == ["opened", "probing", "opened", "probing", "closed"])
  }

  @Test func aRestThatIsAskedForIsKept() async throws {
    let crowd = Crowd()
    for name in ["a", "b", "c", "d"] {
      await crowd.come(name, to: host, policy())
      if name == "a" { try await crowd.answer("a") }
    }
    #expect(crowd.names == ["a", "b", "c", "d"])
    try await crowd.answer("b", 429, retryAfter: 5)
    for name in ["a", "b", "c", "d"] { try await crowd.leave(name) }
    for name in ["e", "f", "g"] { await crowd.come(name, to: host, policy()) }
    await crowd.come("x", to: "http://elsewhere", policy())
    await crowd.advance(to: 4.9)
    #expect(crowd.names == ["a", "b", "c", "d", "x"])
    #expect(await crowd.gate.isShut(host, policy()))
    await crowd.advance(to: 5.1)
    // Four were under way: half as many from then on.
    await crowd.until(["a", "b", "c", "d", "x", "e", "f"])
    #expect(crowd.names == ["a", "b", "c", "d", "x", "e", "f"])
    try await crowd.leave("e")
    await crowd.until(["a", "b", "c", "d", "x", "e", "f", "g"])
    #expect(crowd.names.last == "g")
  }

  @Test func longerRestsAreRefused() async throws {
    let crowd = await crowd(["a"], policy())
    try await crowd.answer("a", 429, retryAfter: 3600)
    await crowd.come("b", to: host, policy())
    let fault = try #require(crowd.error("b") as? TransportError)
    #expect(fault.failure.code == .rateLimited && fault.failure.retryAfter == 3600)
  }

  @Test func whoGivesUpWaitingLeavesNoTrace() async throws {
    let crowd = Crowd()
    await crowd.come("a", to: host, policy(1))
    try await crowd.answer("a")
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
    await crowd.gate.onOpening { counter.add() }
    #expect(await crowd.gate.isShut(host, policy()))
    try await crowd.answer("a")
    #expect(counter.value > 0)
    #expect(await crowd.gate.isShut(host, policy()) == false)
    let before = counter.value
    try await crowd.answer("a", 503, retryAfter: 2)
    #expect(await crowd.gate.isShut(host, policy()))
    await crowd.advance(to: 2.1)
    for _ in 0..<5000 where counter.value <= before + 1 { await crowd.settle() }
    #expect(counter.value > before)
    #expect(await crowd.gate.isShut(host, policy()) == false)
  }

  private final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
  }
}
