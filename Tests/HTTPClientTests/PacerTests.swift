import Admission
import Curl
import Endpoints
import JobModel
import Synchronization
import Testing

@testable import HTTPClient

/// Requests that wait for a rate, on the network thread, with one timer for all.
@Suite(.timeLimit(.minutes(5)))
struct PacerTests {
  private let thread: NetworkThread

  init() throws { thread = try NetworkThread() }

  /// Does the work on the network thread.
  private func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      thread.schedule(after: 0) { continuation.resume(returning: work()) }
    }
  }

  private func limit(_ rate: Int64) -> RateLimit { RateLimit(.bytesPerSecond(rate)) }

  /// Whoever must wait has its turn later, in the order of coming; whoever has left has none.
  @Test func turnsComeInOrder() async {
    defer { thread.shutdown() }
    let pacer = Pacer(thread: thread)
    let limit = limit(100_000)
    let (turns, turn) = AsyncStream.makeStream(of: Int.self)
    let places = await onThread {
      let places = (1...4).map { index in pacer.ask(2000, under: [limit]) { turn.yield(index) } }
      if let left = places[2] { pacer.leave(left) }
      return places
    }
    #expect(places.map { $0 == nil } == [true, false, false, false])
    var came: [Int] = []
    for await index in turns {
      came.append(index)
      if came.count == 2 { break }
    }
    #expect(came == [2, 4])
    #expect(await onThread { pacer.ask(1, under: [RateLimit()]) {} } == nil, "no limit, no wait")
  }

  private func request(_ method: String, body: WireRequest.Body = .none) throws -> WireRequest {
    WireRequest(
      method, try AdmittedURL(try #require(WebURL("http://h/a")), for: method, policy: EffectivePolicy()),
      headers: HeaderList(), body: body)
  }

  private func pace(_ throttle: Throttle?, budgeted: Direction? = .download) throws -> Pace {
    let window = ReceiveWindow(1000, try request("GET"))
    return Pace(Pacer(thread: thread), thread: thread, throttle: throttle, budgeted: budgeted) { _ in window }
  }

  /// What was paid for may move once, and a budget that is used up keeps one direction's bytes: an upload's answer comes.
  @Test func bytesArePaidForOnce() async throws {
    defer { thread.shutdown() }
    let throttle = Throttle(down: [limit(1000)], up: [])
    let pace = try pace(throttle)
    let moves = await onThread {
      let first = pace.mayMove(100, .download)
      let same = pace.mayMove(100, .download)
      pace.moved(100)
      let next = pace.mayMove(100, .download)
      let waiting = pace.mayMove(1, .download)
      pace.end()
      return [first, same, next, waiting]
    }
    #expect(moves == [true, true, false, false])
    let told = Atomic<Int>(0)
    let spent = Throttle(down: [], up: [], spent: { true }).telling { told.add(1, ordering: .relaxed) }
    for budgeted in [.upload, .download, nil] as [Direction?] {
      let pace = try self.pace(spent, budgeted: budgeted)
      #expect(await onThread { pace.mayMove(1, .upload) } == (budgeted != .upload))
      #expect(await onThread { pace.mayMove(1, .download) } == (budgeted != .download))
    }
    #expect(told.load(ordering: .relaxed) == 2, "whose bytes are kept is told")
    let free = try self.pace(nil)
    #expect(await onThread { free.mayMove(.max, .upload) })
  }

  /// A body that is asked for, or sent: what only asks or clears up goes on.
  @Test func whatABudgetKeeps() throws {
    defer { thread.shutdown() }
    #expect(CurlTransport.budgeted(try request("GET")) == .download)
    #expect(CurlTransport.budgeted(try request("HEAD")) == nil)
    #expect(CurlTransport.budgeted(try request("POST", body: .bytes([1]))) == nil)
    for change in [{ $0.isShort = true }, { $0.isCleanup = true }] as [(inout WireRequest) -> Void] {
      var wire = try request("GET")
      change(&wire)
      #expect(CurlTransport.budgeted(wire) == nil)
    }
  }

  @Test(arguments: [(nil, 9999), (64_000, 1000), (6400, 256)] as [(Int64?, Int)])
  func stepsAreSmallUnderALowLimit(_ rate: Int64?, _ step: Int) throws {
    defer { thread.shutdown() }
    let pace = try pace(Throttle(down: [], up: rate.map { [limit($0)] } ?? []))
    #expect(pace.step(9999) == step)
  }
}
