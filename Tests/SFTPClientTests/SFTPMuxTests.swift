import Endpoints
import JobModel
import Locks
import Testing

@testable import SFTPClient

/// Who is told what, and when a connection is given up, by a clock and packets of the test's own.
struct SFTPMuxTests {
  private final class Clock: Sendable {
    private let time = Locked(1000.0)
    var now: Double {
      get { time.withLock { $0 } }
      set { time.withLock { $0 = newValue } }
    }
  }
  private let clock = Clock()
  private let mux: SFTPMux

  init() { mux = SFTPMux("sftp://h") { [clock] in clock.now } }

  /// What it was told by now; nil for nothing.
  private func told(_ answer: SFTPAnswer) async throws -> Result<SFTPReply, Failure>? {
    let waiting = Task { try await answer.value() }
    // Who waits is sent away; who was told hears it all the same.
    waiting.cancel()
    switch await waiting.result {
    case .success(let reply): return .success(reply)
    case .failure(let failure as Failure): return .failure(failure)
    case .failure(is CancellationError): return nil
    case .failure(let error): throw error
    }
  }

  private func isLate(_ answer: SFTPAnswer) async throws -> Bool {
    guard case .failure(let failure)? = try await told(answer) else { return false }
    return failure.code == .timeout
  }

  private func send(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try mux.received($0) } }

  private static func packet(_ body: [UInt8]) -> [UInt8] {
    var packet = SSHWriter()
    packet.string(body)
    return packet.bytes
  }

  /// An answer of so many bytes of a file.
  private static func data(_ id: UInt32, _ count: Int) -> [UInt8] {
    var body = SSHWriter()
    body.byte(103)
    body.uint32(id)
    body.string([UInt8](repeating: 7, count: count))
    return packet(body.bytes)
  }

  /// Lets seconds pass; each brings `bytes` of `packet`.
  private func pass(_ seconds: Int, _ packet: [UInt8] = [], _ bytes: Int = 0) throws {
    for second in 0..<seconds {
      clock.now += 1
      let piece = packet.dropFirst(second * bytes).prefix(bytes)
      if !piece.isEmpty { try send(Array(piece)) }
      try mux.tick()
    }
  }

  @Test func answersGoToThoseWhoAsked() async throws {
    let (one, first) = try mux.enter(limit: 30)
    let (other, second) = try mux.enter(limit: 30)
    #expect(one != other && one != 0 && other != 0)
    try send(Self.data(other, 2) + Self.data(one, 3))
    #expect(try await told(first) == .success(.data([7, 7, 7])))
    #expect(try await told(second) == .success(.data([7, 7])))
    #expect(mux.failure == nil)
  }

  /// A shell that writes something before SFTP begins, or in its place.
  @Test(arguments: [
    ("This account is not available\n", "begins with `This`"), ("\u{1}\u{1}\u{1}\u{1}", "16843009"),
  ])
  func textInPlaceOfSFTP(_ sent: String, _ told: String) {
    mux.begin(limit: 5)
    #expect(throws: Failure.self) { try send(Array(sent.utf8)) }
    #expect(mux.failure?.message.contains(told) == true)
  }

  /// A server that starts the subsystem and says nothing.
  @Test func theFirstPacketIsNotWaitedForForEver() async throws {
    mux.begin(limit: 5)
    try pass(5)
    #expect(try await told(mux.version) == nil)
    try pass(1)
    #expect(try await isLate(mux.version))
  }

  @Test func theFirstPacketIsHeard() async throws {
    mux.begin(limit: 5)
    try send(Self.packet([2, 0, 0, 0, 3]))
    #expect(try await told(mux.version) == .success(.version(3, [])))
    try pass(60)
    #expect(mux.failure == nil, "nothing more is waited for")
  }

  @Test func aSilentConnectionIsGivenUp() async throws {
    let (_, answer) = try mux.enter(limit: 30)
    try pass(30)
    #expect(try await told(answer) == nil)
    #expect(throws: Failure.self) { try pass(1) }
    #expect(try await isLate(answer) && mux.failure?.code == .timeout)
  }

  /// Each try over a dead connection would be lost.
  @Test func aSilentConnectionIsGivenUpWhereLimitsAreShort() async throws {
    let (_, answer) = try mux.enter(limit: 5)
    try pass(6)
    #expect(try await isLate(answer) && mux.failure == nil)
    let (_, again) = try mux.enter(limit: 5)
    #expect(throws: Failure.self) { try pass(5) }
    #expect(try await isLate(again) && mux.failure?.code == .timeout)
  }

  /// Those who clean up wait for seconds, on a connection that others have more time on.
  @Test func whoIsHastyEndsNoConnectionOfOthers() async throws {
    let (_, hasty) = try mux.enter(limit: 2)
    let (id, answer) = try mux.enter(limit: 60)
    try pass(40)
    #expect(try await isLate(hasty) && mux.failure == nil)
    try send(Self.data(id, 1))
    #expect(try await told(answer) == .success(.data([7])))
  }

  /// What is asked behind a slow request is answered behind it.
  @Test func whoWaitsLongestKeepsTheConnection() async throws {
    let (_, slow) = try mux.enter(limit: 60)
    let (_, answer) = try mux.enter(limit: 30)
    try pass(31)
    #expect(try await isLate(answer) && mux.failure == nil)
    #expect(throws: Failure.self) { try pass(30) }
    #expect(try await isLate(slow) && mux.failure?.code == .timeout)
  }

  /// By this newcomers are kept away.
  @Test func silenceIsToldWhereSomebodyWaits() throws {
    try pass(60)
    #expect(mux.silence == 0, "nobody waits")
    let (id, _) = try mux.enter(limit: 600)
    try pass(20)
    let (other, _) = try mux.enter(limit: 30)
    #expect(mux.silence == 20)
    try send(Self.data(other, 1))
    #expect(mux.silence == 0)
    try pass(5)
    #expect(mux.silence == 5)
    try send(Self.data(id, 1))
    try pass(60)
    #expect(mux.silence == 0)
  }

  @Test func aTrickleIsSilence() async throws {
    let (id, answer) = try mux.enter(limit: 30)
    #expect(throws: Failure.self) { try pass(40, Self.data(id, 200_000), 1000) }
    #expect(try await isLate(answer))
  }

  @Test func aSlowLineIsNoSilence() async throws {
    let (id, answer) = try mux.enter(limit: 30)
    let packet = Self.data(id, 200_000)
    try pass(100, packet, 1024)
    #expect(try await told(answer) == nil && mux.failure == nil)
    try send(Array(packet.dropFirst(100 * 1024)))
    #expect(try await told(answer) == .success(.data(ArraySlice([UInt8](repeating: 7, count: 200_000)))))
  }

  /// One request that is never answered, beside others that are.
  @Test func aForgottenRequestIsPassedOver() async throws {
    let (_, forgotten) = try mux.enter(limit: 30)
    for _ in 0..<40 {
      let (id, answer) = try mux.enter(limit: 30)
      try pass(1)
      try send(Self.data(id, 1))
      #expect(try await told(answer) == .success(.data([7])))
    }
    try pass(1)
    #expect(try await isLate(forgotten) && mux.failure == nil)
  }

  /// Answers in order are no sign of a forgotten one, however long the queue is.
  @Test func aLongQueueIsNoSilence() async throws {
    let asked = try (0..<100).map { _ in try mux.enter(limit: 30) }
    for (id, answer) in asked {
      try pass(1)
      try send(Self.data(id, 1))
      #expect(try await told(answer) == .success(.data([7])))
    }
    #expect(mux.failure == nil)
  }

  @Test(
    arguments: [
      [255, 255, 255, 255], [0, 0, 0, 5, 99, 0, 0, 0, 9], [0, 0, 0, 9, 101, 0, 0, 0, 9, 0, 0, 0, 0],
    ] as [[UInt8]])
  func nonsenseEndsTheConnection(_ nonsense: [UInt8]) async throws {
    let (_, answer) = try mux.enter(limit: 30)
    #expect(throws: Failure.self) { try send(nonsense) }
    #expect(mux.failure?.code == .protocolViolation)
    guard case .failure(let failure)? = try await told(answer) else {
      Issue.record("who waits is told")
      return
    }
    #expect(failure.code == .protocolViolation)
    // What floods in behind it would be kept for nobody.
    #expect(throws: Failure.self) { try send([UInt8](repeating: 0, count: 1 << 20)) }
    #expect(throws: Failure.self) { try mux.enter(limit: 30) }
  }

  /// Bytes that were sent are in the window until their answer is there, or none comes any more.
  @Test func answersMakeRoom() async throws {
    let mux = SFTPMux("sftp://h", window: 100) { [clock] in clock.now }
    try await mux.window.enter(80)
    let (id, _) = try mux.enter(limit: 30, bytes: 80)
    func next() async throws -> Task<Void, any Error> {
      let task = Task { try await mux.window.enter(80) }
      while mux.window.waiting == 0 { try await Task.sleep(for: .milliseconds(1)) }
      return task
    }
    let second = try await next()
    try Self.data(id, 1).withUnsafeBytes { try mux.received($0) }
    try await second.value
    let third = try await next()
    mux.ended(CancellationError())
    try await third.value
    #expect(mux.window.waiting == 0)
  }
}
