import TestSupport
import Testing

@testable import Admission

/// The window against servers that are a formula: so many seconds a request, by how many are under way.
struct ConcurrencyWindowTests {
  /// A server, and what the window must come to there.
  struct Server: Sendable, CustomStringConvertible {
    var description: String
    var ceiling = 64
    var known: Int?
    /// Requests that there are to send at a time.
    var demand = 1000
    var requests = 8000
    var bytes: Int64 = 4096
    /// Seconds of a request beside so many.
    var seconds: @Sendable (Int) -> Double
    var becomes: ClosedRange<Int>
    /// Of the time that the best fixed number takes.
    var slowdown = 1.2
    /// How much one request's seconds differ from the next one's: a share of them.
    var noise = 0.0
    var seed: UInt64 = 0
  }

  private struct Outcome {
    var window: ConcurrencyWindow
    var seconds: Double
    var most = 0
  }

  /// Keeps the window full until all is sent.
  private func run(_ server: Server, size fixed: Int? = nil) -> Outcome {
    var one = Outcome(
      window: ConcurrencyWindow(known: fixed ?? server.known, ceiling: fixed ?? server.ceiling), seconds: 0)
    var flying: [(begun: Double, ends: Double)] = []
    var (now, left) = (0.0, server.requests)
    var chance = SeededRandom(server.seed)
    while left > 0 || !flying.isEmpty {
      while left > 0, flying.count < min(server.demand, fixed ?? one.window.size) {
        left -= 1
        let noise = server.noise * Double.random(in: -1...1, using: &chance)
        flying.append((now, now + server.seconds(flying.count + 1) * (1 + noise)))
        one.window.admitted(inFlight: flying.count, now: now)
        one.most = max(one.most, flying.count)
      }
      guard let next = flying.indices.min(by: { flying[$0].ends < flying[$1].ends }) else { break }
      let request = flying.remove(at: next)
      now = max(now, request.ends)
      _ = one.window.ended(begun: request.begun, now: now, bytes: server.bytes)
    }
    one.seconds = now
    return one
  }

  @Test(arguments: [
    Server(description: "far away", seconds: { _ in 0.1 }, becomes: 64...64),
    Server(description: "far away, a store", ceiling: 256, seconds: { _ in 0.1 }, becomes: 256...256),
    Server(
      description: "far away, a link that 20 fill", bytes: 1 << 20,
      seconds: { 0.1 * max(1, Double($0) / 20) },
      becomes: 16...36),
    Server(description: "one at a time", seconds: { 0.001 * Double($0) }, becomes: 8...10),
    Server(
      description: "twelve at a time", seconds: { 0.02 * max(1, Double($0) / 12) }, becomes: 10...20),
    Server(
      description: "slower as they rise", seconds: { 0.05 * (1 + Double($0 * $0) / 256) }, becomes: 11...22),
    Server(description: "little to send", demand: 3, seconds: { _ in 0.1 }, becomes: 8...8),
    Server(
      description: "known from before", known: 48, seconds: { _ in 0.1 }, becomes: 64...64, slowdown: 1.1),
    Server(
      description: "known, and worse than it was", known: 64, seconds: { 0.001 * Double($0) },
      becomes: 8...64),
  ]) func itFindsWhatPays(_ server: Server) {
    let found = run(server)
    #expect(server.becomes.contains(found.window.size), "\(found.window.size)")
    #expect(found.most <= server.ceiling)
    let sizes = [1, 2, 4, 8, 12, 16, 20, 24, 32, 64, 256].filter { $0 <= server.ceiling }
    let best: Double = sizes.map { run(server, size: $0).seconds }.min() ?? .infinity
    #expect(found.seconds <= best * server.slowdown, "\(found.seconds) s, at best \(best) s")
  }

  /// A near host that brings a little more each time: chance must not hide it.
  @Test(arguments: UInt64(1)...12) func whatPaysALittleIsFound(_ seed: UInt64) {
    let server = Server(
      description: "a store beside it", ceiling: 256, requests: 3000, bytes: 16_384,
      seconds: { (Double($0) + 6) / 1750 }, becomes: 16...64, slowdown: 1.15, noise: 0.9, seed: seed)
    itFindsWhatPays(server)
  }

  /// A host that gets slower takes fewer after a while.
  @Test func lessIsTriedToo() {
    var server = Server(description: "", requests: 2000, seconds: { _ in 0.1 }, becomes: 64...64)
    let before = run(server).window.size
    server.known = before
    server.requests = 40_000
    server.seconds = { 0.01 * Double($0) }
    #expect(run(server).window.size < before)
  }

  @Test func aRefusalHalvesOnce() {
    var window = ConcurrencyWindow(known: 32, ceiling: 64)
    for inFlight in 1...32 { window.admitted(inFlight: inFlight, now: 1) }
    #expect(window.refused(begun: 1, now: 2, inFlight: 32) == .halved)
    #expect(window.size == 16)
    // What was under way then says nothing new.
    #expect(window.refused(begun: 1.5, now: 2.5, inFlight: 31) == nil)
    #expect(window.refused(begun: 2, now: 3, inFlight: 16) == .halved)
    #expect(window.size == 8 && !window.hasRecovered())
    for time in 4...6 { _ = window.refused(begun: Double(time), now: Double(time), inFlight: 1) }
    #expect(window.size == 1)
    #expect(window.refused(begun: 9, now: 9, inFlight: 1) == ConcurrencyWindow.Decrease.none)
    #expect(window.size == 1 && window.hasRoom(0) && !window.hasRoom(1))
  }

  /// What a trial brought is undone, and tried again later each time.
  @Test func aRefusedTrialIsUndone() {
    var window = ConcurrencyWindow(ceiling: 64)
    var (now, refusals, rounds) = (0.0, 0, 0)
    while rounds < 400 {
      rounds += 1
      let size = window.size
      for _ in 0..<size { window.admitted(inFlight: size, now: now) }
      let begun = now
      now += 0.1
      if size > 8 {
        refusals += 1
        #expect(window.isTrying)
        #expect(window.refused(begun: begun, now: now, inFlight: size) == .undone)
        #expect(window.size == 8)
      }
      for _ in 0..<size { _ = window.ended(begun: begun, now: now, bytes: 4096) }
    }
    #expect((2...12).contains(refusals), "\(refusals)")
  }

  /// A gateway's 502 ends the trial once; what was found stays, and what fails from then on is no trial's.
  @Test func anOutageEndsATrial() {
    var window = ConcurrencyWindow(ceiling: 64)
    #expect(window.isTrying)
    window.admitted(inFlight: 1, now: 0)
    window.failed(begun: 0, now: 0.1)
    #expect(!window.isTrying && window.size == ConcurrencyWindow.start)
    window.failed(begun: 0.2, now: 0.3)
    #expect(window.size == ConcurrencyWindow.start)
  }
}
