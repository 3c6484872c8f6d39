import Digests
import Endpoints
import Foundation
import JobModel
import LocalFiles
import Testing

@testable import Transfers

/// What a copy is made of, each by itself.
struct CopySourceTests {
  private static let object: RemoteObject = {
    var object = RemoteObject()
    (object.size, object.etag) = (10, "\"1\"")
    return object
  }()

  /// Its best mark alone tells a version: without any, each attempt has its own.
  @Test func aVersionIsToldAsTheFactsOfAFile() {
    func facts(_ attempt: String = "1", _ change: (inout RemoteObject) -> Void = { _ in }) -> FileFacts {
      var object = Self.object
      change(&object)
      return CopyVersion(object: object, attempt: attempt).facts
    }
    #expect(facts().isSameContent(as: facts("2") { $0.etag = "W/\"1\"" }))
    #expect(facts().isSameContent(as: facts { $0.lastModified = "then" }))
    for change: (inout RemoteObject) -> Void in [
      { $0.etag = "\"2\"" }, { $0.version = "2" }, { $0.size = 11 }, { $0.etag = nil },
    ] {
      #expect(!facts().isSameContent(as: facts("1", change)))
    }
    #expect(!facts("1") { $0.etag = nil }.isSameContent(as: facts("2") { $0.etag = nil }))
  }

  /// A HEAD that tells no size, as Apache's of an empty file: the head of a GET may tell it.
  @Test(arguments: [(0, true), (7, true), (7, false)])
  func theSizeThatAHeadDoesNotTell(_ size: Int, _ isTold: Bool) async throws {
    let (rig, store) = (try Rig(.copy), FakeStore())
    let outcome = try await rig.run(from: "web:src", to: "other:dst") { sent in
      guard sent.url.host == "h" else { return store.response(sent) }
      var headers: HeaderList = ["ETag": "\"1\""]
      guard sent.method == "GET" else { return Reply(headers: headers) }
      if isTold { headers.append("Content-Length", "\(size)") }
      return Reply(headers: headers, body: pattern(size))
    }
    #expect(outcome.state == (isTold ? .completed : .failed), "\(String(describing: outcome.code))")
    #expect(store["o/b/dst"]?.bytes == (isTold ? pattern(size) : nil))
    if !isTold { #expect(outcome.code == .protocolViolation) }
  }

  /// Which bytes of 0..<10 a receiver uses and skips, of an answer that brings `came`.
  private func taken(
    _ wanted: Range<Int64>, _ opening: Opening, _ came: Range<UInt8>
  ) throws -> (used: [UInt8], skipped: Int, isEnough: Bool) {
    var (used, skipped, isEnough): ([UInt8], Int, Bool) = ([], 0, false)
    let receiver = RangeReceiver(wanted, of: Self.object, at: "there") {
      skipped += $0
    } use: {
      used += $0
    }
    try receiver.open(opening)
    do {
      for byte in came { try withUnsafeBytes(of: byte) { try receiver.take($0) } }
    } catch is RangeReceiver.Enough { isEnough = true }
    #expect(receiver.reached == wanted.lowerBound + Int64(used.count))
    return (used, skipped, isEnough)
  }

  @Test func onlyWhatIsWantedIsUsed() throws {
    let part = try taken(2..<5, Opening(.bytes(2..<5), seen: Self.object), 2..<5)
    #expect(part.used == [2, 3, 4] && part.skipped == 0 && !part.isEnough)
    let short = try taken(2..<5, Opening(.bytes(2..<4), seen: Self.object), 2..<4)
    #expect(short.used == [2, 3])
    let whole = try taken(0..<3, Opening(.whole(length: 10), seen: Self.object), 0..<10)
    #expect(whole.used == [0, 1, 2] && whole.skipped == 1 && whole.isEnough)
  }

  @Test func anotherVersionAndMissingRangesAreRefused() throws {
    var other = Self.object
    other.etag = "\"2\""
    for opening in [Opening(.bytes(0..<3), seen: other), Opening(.changed, seen: other)] {
      let failure = #expect(throws: Failure.self) { try taken(0..<3, opening, 0..<3) }
      #expect(failure?.class == .sourceChanged && failure?.code == .remoteChanged)
    }
    let untied = Failure(.rangeInvalid, "no ETag", class: .rangesUnserved)
    for opening in [Opening(.whole(length: 10)), Opening(.bytes(2..<3), untied: untied)] {
      let failure = #expect(throws: Failure.self) { try taken(2..<3, opening, 0..<3) }
      #expect(failure?.class == .rangesUnserved)
    }
  }

  /// A HEAD told ten bytes.
  @Test func moreThanWasToldIsAnotherObject() throws {
    for opening in [
      Opening(.whole(length: nil), seen: Self.object), Opening(.bytes(0..<10), seen: Self.object),
    ] {
      let failure = #expect(throws: Failure.self) { try taken(0..<10, opening, 0..<11) }
      #expect(failure?.class == .sourceChanged && failure?.code == .remoteChanged)
    }
    let last = try taken(5..<10, Opening(.bytes(5..<10), seen: Self.object), 5..<10)
    #expect(last.used == [5, 6, 7, 8, 9] && !last.isEnough)
  }

  @Test func whatPassesInAnyOrderIsHashedInOrder() async throws {
    let (budget, pool) = (BufferBudget(bytes: 30), BlockingPool(label: "t", width: 1))
    let digest = try PassingDigest([.sha256], pool: pool)
    let bytes = (0..<30).map { UInt8($0) }
    for offset in [10, 20, 0] {
      let loan = try #require(budget.take(10, for: "s"))
      bytes[offset..<offset + 10].withUnsafeBytes { loan.write($0, at: 0) }
      #expect(digest.finish(size: 30) == nil)
      try await digest.add(loan, at: Int64(offset))
    }
    #expect(digest.finish(size: 30) == [.sha256: try Digest.hex(of: bytes, .sha256)])
    // The thread that hashed it lets go of it a moment later.
    for _ in 0..<1000 where budget.take(30, for: "s") == nil { try await Task.sleep(for: .milliseconds(1)) }
    #expect(budget.take(30, for: "s") != nil, "what is hashed is given back")
  }

  @Test func roomIsGivenInTheOrderOfComing() async throws {
    let budget = BufferBudget(bytes: 10)
    var first = budget.take(10, for: "s")
    let large = Task { try await budget.room(8, for: "s")?.bytes.count }
    while budget.waiting < 1 { await Task.yield() }
    let small = Task { try await budget.room(1, for: "s")?.bytes.count }
    let gone = Task { try await budget.room(1, for: "s")?.bytes.count }
    while budget.waiting < 3 { await Task.yield() }
    gone.cancel()
    await #expect(throws: CancellationError.self) { try await gone.value }
    withExtendedLifetime(first) {}
    first = nil
    #expect(try await large.value != nil)
    #expect(try await small.value != nil)
    #expect(budget.take(10, for: "s") != nil)
  }

  /// A server that takes its bytes slowly, or not at all, leaves room for copies to the others.
  @Test(.timeLimit(.minutes(10))) func noServerHoldsTheRoomOfAll() async throws {
    let budget = BufferBudget(bytes: 16)
    for origin in ["slow", "quick"] { budget.begin(copyTo: origin) }
    let held = try await budget.room(6, for: "slow")
    let large = Task { try await budget.room(8, for: "slow")?.bytes.count }
    while budget.waiting < 1 { await Task.yield() }
    // It would fit its share, and is behind the large one all the same.
    let small = Task { try await budget.room(1, for: "slow")?.bytes.count }
    while budget.waiting < 2 { await Task.yield() }
    for _ in 0..<3 { _ = try await budget.room(8, for: "quick") }
    #expect(budget.waiting == 2)
    // Alone it may have all.
    budget.end(copyTo: "quick")
    _ = try await (large.value, small.value)
    #expect(budget.take(10, for: "slow") != nil)
    withExtendedLifetime(held) {}
  }

  /// Two servers hold all of it: who can do without goes on without it, who can't waits.
  @Test(.timeLimit(.minutes(10))) func whoCanDoWithoutGoesOn() async throws {
    let budget = BufferBudget(bytes: 16, patience: 0)
    var held = [budget.take(8, for: "slow"), budget.take(8, for: "dead")]
    let patient = Task { try await budget.room(8, for: "good")?.bytes.count }
    while budget.waiting < 1 { await Task.yield() }
    #expect(try await budget.room(8, for: "other", canDoWithout: true) == nil)
    #expect(budget.waiting == 1)
    withExtendedLifetime(held) {}
    held = []
    #expect(try await patient.value != nil)
    let again = try await budget.room(16, for: "other", canDoWithout: true)
    #expect(again != nil, "there is room again")
  }

  /// What its own server holds comes back with the chunks before it: that is waited for.
  @Test(.timeLimit(.minutes(10))) func itsOwnServersRoomIsWaitedFor() async throws {
    let budget = BufferBudget(bytes: 16, patience: 0)
    var held = [budget.take(16, for: "one")]
    let next = Task { try await budget.room(8, for: "one", canDoWithout: true) != nil }
    while budget.waiting < 1 { await Task.yield() }
    withExtendedLifetime(held) {}
    held = []
    #expect(try await next.value)
  }

  /// What is hashed as it is read has its turn among what is held, and waits for no chunk that comes no more.
  @Test(.timeLimit(.minutes(10))) func whatIsNotHeldIsHashedInItsTurn() async throws {
    let (budget, pool) = (BufferBudget(bytes: 30), BlockingPool(label: "t", width: 1))
    let digest = try PassingDigest([.sha256], pool: pool)
    let bytes = (0..<30).map { UInt8($0) }
    func hold(_ offset: Int) async throws {
      let loan = try #require(budget.take(10, for: "s"))
      bytes[offset..<offset + 10].withUnsafeBytes { loan.write($0, at: 0) }
      try await digest.add(loan, at: Int64(offset))
    }
    try await hold(20)
    try await hold(0)
    #expect(await digest.takeTurn(at: 10))
    bytes[10..<20].withUnsafeBytes { digest.update($0) }
    #expect(digest.finish(size: 30) == nil)
    try await digest.leaveTurn()
    #expect(digest.finish(size: 30) == [.sha256: try Digest.hex(of: bytes, .sha256)])
    #expect(await !digest.takeTurn(at: 0), "its turn is over")
    // Nobody waits behind a chunk that is known to come no more.
    digest.end(of: 30)
    #expect(await !digest.takeTurn(at: 40))
  }

  /// Uploads take no more than their share either, and what holds nothing may be as large as all of it.
  @Test func aShareIsOfThoseThatHoldSomething() async throws {
    let budget = BufferBudget(bytes: 16)
    budget.begin(copyTo: "copies")
    let upload = try #require(budget.take(8, for: "uploads"))
    #expect(budget.take(1, for: "uploads") == nil && budget.take(8, for: "copies") != nil)
    withExtendedLifetime(upload) {}
    let whole = BufferBudget(bytes: 16)
    for origin in ["one", "other"] { whole.begin(copyTo: origin) }
    #expect(whole.take(16, for: "one") != nil)
  }

  @Test func thePipeHoldsItsLastByteBackUntilAllIsProved() throws {
    let pipe = BytePipe()
    var buffer = [UInt8](repeating: 0, count: 8)
    func read() throws -> Int { try buffer.withUnsafeMutableBytes { try pipe.read(into: $0) } }
    #expect(pipe.lacksBytes {})
    [UInt8]([1, 2, 3]).withUnsafeBytes { pipe.write(.init(rebasing: $0.prefix(3))) }
    #expect(try read() == 2 && read() == 0)
    pipe.end(nil)
    #expect(try read() == 1 && read() == 0)
    let broken = BytePipe()
    [UInt8]([1, 2, 3]).withUnsafeBytes { broken.write(.init(rebasing: $0.prefix(3))) }
    broken.end(Failure(.integrityMismatch, "other bytes"))
    #expect(throws: Failure.self) { try buffer.withUnsafeMutableBytes { try broken.read(into: $0) } }
  }
}
