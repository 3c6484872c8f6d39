import JobModel
import Testing

@testable import Admission

/// Breaker, window, cool-downs, connections and permits together, for one host.
struct LimiterTests {
  private static let host = "http://h"
  private let silence: Failure = {
    var failure = Failure(.networkUnreachable, "refused")
    failure.isUnconnected = true
    return failure
  }()

  /// A limiter, and transfers that ask one host.
  private struct Case {
    var limiter = Limiter(random: { 0.5 })
    var transfers: [Int64: TransferPermit] = [:]
    let policy: EffectivePolicy = {
      var policy = EffectivePolicy()
      policy.transfers = 1000
      policy.connectionsPerHost = 8
      policy.retryJitter = .none
      policy.retryInitial = 1
      policy.retryMultiplier = 2
      return policy
    }()

    func decision(_ now: Double, _ seq: Int64? = nil) -> HostDecision {
      limiter.hostDecision(host, policy, requester: seq, now: now)
    }

    mutating func ask(_ now: Double, _ seq: Int64 = 1) -> RequestPermit? {
      let transfer = transfers[seq] ?? limiter.permits.begin(seq, group: 0, .transfers(1000))
      transfers[seq] = transfer
      var request = AdmissionRequest(host, policy, transfer)
      guard case .go(let permit) = limiter.decide(&request, now: now) else {
        limiter.use(&request, nil)
        return nil
      }
      return permit
    }

    /// As `ask`, for one that is let go.
    mutating func send(_ now: Double, _ seq: Int64 = 1) throws -> RequestPermit {
      let permit = ask(now, seq)
      return try #require(permit)
    }

    mutating func response(
      _ permit: RequestPermit, _ status: Int, retryAfter: Double? = nil, _ now: Double
    ) -> [HostNews.Change] {
      limiter.answered(permit, status: status, retryAfter: retryAfter, now: now)
      return limiter.takeNews().map(\.change)
    }

    mutating func end(_ permit: RequestPermit, _ failure: Failure? = nil, _ now: Double)
      -> [HostNews]
    {
      limiter.ended(permit, failure: failure, now: now)
      return limiter.takeNews()
    }

    /// So many requests under way to a host that has answered.
    mutating func begun(_ count: Int) throws -> [RequestPermit] {
      let first = try send(0)
      _ = response(first, 200, 0)
      _ = end(first, nil, 0)
      return try (0..<count).map { _ in try send(1) }
    }
  }

  /// A gateway that answers for all is a host that is not there: so many requests, and no more.
  @Test(arguments: [502, 503, 504]) func anOutageIsGivenUpAsSilenceIs(_ status: Int) throws {
    var one = Case()
    let outage = Failure(.serverError, "HTTP \(status)", httpStatus: status)
    var (now, asked) = (0.0, 0)
    for seq in Int64(1)...500 {
      now += 100
      guard let permit = one.ask(now, seq) else { continue }
      asked += 1
      _ = one.response(permit, status, now)
      _ = one.end(permit, outage, now)
      if case .refuse = one.decision(now, seq + 1) { break }
    }
    #expect(asked == one.policy.retryAttempts)
    guard case .refuse(let failure) = one.decision(now, 999) else {
      Issue.record("\(one.decision(now, 999))")
      return
    }
    #expect(failure.class == .deferred && failure.httpStatus == status)
    // Any answer of the host's own opens it for all.
    now += one.policy.retryMax
    let permit = try one.send(now, 1000)
    let answered = one.response(permit, 404, now).last
    #expect(answered == .closed)
    #expect(one.decision(now, 1) == .go)
  }

  /// What a server says of one file, or of its own fault, is an answer.
  @Test(arguments: [500, 501, 507, 429, 404]) func otherRefusalsAreNoOutage(_ status: Int) throws {
    var one = Case()
    #expect(!CircuitBreaker.isOutage(status))
    for number in 0..<100 {
      let now = Double(number) * 100
      let permit = try one.send(now)
      _ = one.response(permit, status, now)
      _ = one.end(permit, nil, now)
    }
    #expect(!one.limiter.isOpen(Self.host) && !one.limiter.hasFailed(Self.host, 1))
  }

  /// The run after one that gave a host up: one request, at once, for all; and a fresh start where it answers.
  @Test func aRunStartedAgainAsksOnce() throws {
    var before = Case()
    var record: HostRecord?
    for seq in Int64(1)...8 {
      let permit = try before.send(Double(seq) * 100, seq)
      record = before.end(permit, silence, Double(seq) * 100).last?.record
    }
    let left = try #require(record)
    for responses in [true, false] {
      var one = Case()
      one.limiter.recall([Self.host: left])
      let permit = try one.send(0, 11)
      #expect(one.decision(0, 12) == .waitForHost(until: nil))
      if responses {
        #expect(one.response(permit, 200, 1) == [.probing, .closed])
        #expect(one.end(permit, nil, 1) == [])
        #expect(one.decision(1, 12) == .go)
      } else {
        _ = one.end(permit, silence, 1)
        for seq in Int64(12)...20 {
          guard case .refuse = one.decision(1, seq) else {
            Issue.record("\(one.decision(1, seq))")
            return
          }
        }
      }
    }
  }

  /// One request finds out whether the host is there; its back-off begins anew. A narrow window stays narrow.
  @Test func aRunStartedAgainAsksOnceAndKeepsTheWindow() throws {
    var before = Case()
    let permits = try before.begun(8)
    #expect(before.response(permits[0], 503, 1) == [.slowed(window: 4, rest: 0, status: 503)])
    let news = permits.prefix(5).flatMap { before.end($0, silence, 2) }
    let record = try #require(news.last?.record)
    #expect(record == HostRecord(openings: 1, isGivenUp: false, window: 4))
    var one = Case()
    one.limiter.recall([Self.host: record])
    let permit = try one.send(0, 2)
    let opened = one.end(permit, silence, 0).last
    #expect(opened?.change == .opened(1, rest: 1))
    #expect(one.decision(0, 3) == .waitForHost(until: 1))
    let probe = try one.send(2, 3)
    _ = one.response(probe, 404, 2)
    for _ in 0..<3 { _ = try one.send(2, 4) }
    #expect(one.decision(2, 5) == .waitForRequest)
  }

  @Test func aRefusalSlowsTheHostDownForAll() throws {
    var one = Case()
    let permits = try one.begun(8)
    #expect(
      one.response(permits[0], 429, retryAfter: 3, 2) == [.slowed(window: 4, rest: 3, status: 429)])
    #expect(one.response(permits[1], 429, retryAfter: 1, 2.5) == [])
    #expect(one.decision(3) == .waitForHost(until: 5))
    for permit in permits { _ = one.end(permit, nil, 3) }
    let next = try (0..<4).map { _ in try one.send(5) }
    #expect(one.decision(5) == .waitForRequest)
    #expect(one.response(next[0], 503, 6) == [.slowed(window: 2, rest: 0, status: 503)])
  }

  @Test func aWideWindowIsNews() throws {
    var one = Case()
    let permits = try one.begun(4)
    _ = one.response(permits[0], 503, 1)
    var news: [HostNews.Change] = []
    for _ in 0..<100 { news += one.response(permits[1], 200, 2) }
    #expect(news == [.recovered])
  }

  /// With `auto` the window is the host's, and transfers may begin as it grows.
  @Test func whatIsFoundBoundsRequestsAndTransfers() throws {
    let policy = EffectivePolicy()
    var limiter = Limiter(random: { 0.5 })
    let limit = limiter.limit(policy, host: Self.host)
    var transfers: [TransferPermit] = []
    func begin() {
      while limiter.permits.hasRoom(0, limit) {
        transfers.append(limiter.permits.begin(Int64(transfers.count + 1), group: 0, limit))
      }
    }
    begin()
    #expect(transfers.count == 12)
    var permits: [RequestPermit] = []
    func send(_ now: Double) {
      while let transfer = transfers.first(where: { one in
        !permits.contains { $0.request.transfer?.id == one.id }
      }) {
        var request = AdmissionRequest(Self.host, policy, transfer)
        guard case .go(let permit) = limiter.decide(&request, now: now) else {
          return limiter.use(&request, nil)
        }
        permits.append(permit)
      }
    }
    var (now, most) = (0.0, 0)
    for _ in 0..<12 {
      send(now)
      most = max(most, permits.count)
      now += 0.1
      for permit in permits {
        limiter.answered(permit, status: 200, retryAfter: nil, now: now)
        limiter.ended(permit, failure: nil, bytes: 4096, now: now)
        permits.removeAll { $0.id == permit.id }
        limiter.permits.end(permit.request.transfer?.id ?? 0)
        transfers.removeAll { $0.id == permit.request.transfer?.id }
        send(now)
        begin()
        send(now)
      }
    }
    #expect(most == 64 && transfers.count == 64 + 16 + 2, "\(most), \(transfers.count)")
    let sizes = limiter.takeNews().compactMap { news -> Int? in
      if case .sized(let size) = news.change { size } else { nil }
    }
    // At the ceiling less is tried.
    #expect(Array(sizes.prefix(4)) == [8, 16, 32, 64])
  }

  @Test func filesAndMemoryBoundWhatIsFound() throws {
    var limiter = Limiter(random: { 0.5 }, capacity: 5, known: [Self.host: 64])
    var sent = 0
    for number in 0..<20 {
      var request = AdmissionRequest(number < 10 ? Self.host : "http://other\(number)", EffectivePolicy())
      guard case .go(let permit) = limiter.decide(&request, now: 0) else { continue }
      sent += 1
      limiter.answered(permit, status: 200, retryAfter: nil, now: 0)
    }
    #expect(sent == 5)
  }

  /// Requests of three policies to two hosts, sent where the job's `connections` leave room.
  @Test(
    arguments: [(nil, nil, 12), (5, nil, 5), (.auto, 2, 4), (3, 2, 3)]
      as [(FlightLimit?, FlightLimit?, Int)])
  func theJobsConnectionsAreOfAllPolicies(total: FlightLimit?, perHost: FlightLimit?, sent: Int) throws {
    var limits = JobLimits()
    (limits.connectionsTotal, limits.connectionsPerHost) = (total, perHost)
    var limiter = Limiter(random: { 0.5 }, limits: limits)
    var permits: [RequestPermit] = []
    func ask(_ number: Int) -> RequestPermit? {
      var policy = EffectivePolicy()
      policy.retryAttempts = 2 + number % 3
      if number % 3 == 0 { (policy.connectionsTotal, policy.connectionsPerHost) = (8, 8) }
      var request = AdmissionRequest(number % 2 == 0 ? Self.host : "http://other", policy)
      guard case .go(let permit) = limiter.decide(&request, now: 0) else { return nil }
      return permit
    }
    // A host that has not answered yet is asked by one request.
    for number in 0..<2 {
      let first = ask(number)
      limiter.answered(try #require(first), status: 200, retryAfter: nil, now: 0)
      permits.append(try #require(first))
    }
    for number in 2..<12 { ask(number).map { permits.append($0) } }
    #expect(permits.count == sent)
    guard sent < 12 else { return }
    limiter.ended(permits[0], failure: nil, now: 0)
    let (next, another) = (ask(0), ask(0))
    #expect(next != nil && another == nil)
  }

  /// What a host does not take beyond what it has taken is no outage: it would be left alone for it.
  @Test func aTrialThatIsRefusedIsNoOutage() throws {
    let policy = EffectivePolicy()
    var limiter = Limiter(random: { 0.5 }, known: [Self.host: 16])
    func send(_ now: Double) throws -> RequestPermit {
      var request = AdmissionRequest(Self.host, policy)
      guard case .go(let permit) = limiter.decide(&request, now: now) else {
        throw silence
      }
      return permit
    }
    let first = try send(0)
    limiter.answered(first, status: 200, retryAfter: nil, now: 0.1)
    limiter.ended(first, failure: nil, bytes: 10, now: 0.1)
    let permits = try (0..<16).map { _ in try send(0.2) }
    for permit in permits.prefix(8) { limiter.ended(permit, failure: silence, now: 0.3) }
    for permit in permits.suffix(8) {
      limiter.answered(permit, status: 200, retryAfter: nil, now: 0.3)
      limiter.ended(permit, failure: nil, bytes: 10, now: 0.3)
    }
    #expect(!limiter.isOpen(Self.host))
    // But once it is known what it takes, silence is what it was.
    let more = try (0..<5).map { _ in try send(0.4) }
    for permit in more { limiter.ended(permit, failure: silence, now: 0.5) }
    #expect(limiter.isOpen(Self.host))
  }

  @Test func anHoursRestIsNotWaitedFor() throws {
    var one = Case()
    let permit = try one.send(0)
    _ = one.response(permit, 429, retryAfter: 3600, 1)
    guard case .refuse(let failure) = one.decision(2) else {
      Issue.record("\(one.decision(2))")
      return
    }
    #expect(failure.code == .rateLimited && failure.retryAfter == 3599)
  }
}
