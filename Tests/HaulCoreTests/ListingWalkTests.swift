import Endpoints
import Foundation
import HTTPClient
import JobLedger
import JobModel
import Locks
import SFTPClient
import TestSupport
import Testing

@testable import HaulCore

/// A listing is complete in whichever order the store tells its names, and wherever it was begun.
struct ListingWalkTests {
  private static let bucket: Endpoint = {
    var settings = S3Settings()
    (settings.bucket, settings.addressing) = ("b", .path)
    return Endpoint(name: "s", driver: S3Driver(settings), url: "http://h")
  }()

  private var now: Double { Date().timeIntervalSince1970 }

  /// Lists everything below `p/` into a ledger, as one compile does.
  private func walk(
    _ network: ScriptedNetwork, _ endpoint: Endpoint = bucket, into ledger: JobLedger, attempts: Int = 1
  ) async throws -> [String] {
    let context = ClientContext(
      transport: network, clock: EngineClock(now: { 1_700_000_000 }, random: { 0.5 }),
      secrets: SecretSource { _ in Secret("token") }, mask: SecretMask(),
      sftp: SFTPClient(SSHSurroundings(home: nil, agentSocket: nil)))
    var settings = TransferSettings(direction: .download)
    settings.policy.retryAttempts = attempts
    let (number, parts) = try ledger.listing("k", of: "p/", now: now)
    let walk = ListingWalk(
      ledger: ledger, listing: RemoteListing(context), endpoint: endpoint, prefix: "p/", settings: settings,
      number: number)
    try await walk.run(parts)
    return try ledger.listed(number, after: nil, most: 1000).map { "p/" + $0.path }
  }

  private func ledger(_ scratch: Scratch) throws -> JobLedger {
    try JobLedger(folder: scratch.path, mayMigrate: true)
  }

  // MARK: Order

  private func check(_ names: [String], isDivided: Bool) async throws {
    let (scratch, bucket) = (try Scratch(), ListedBucket(names: names))
    let network = ScriptedNetwork { bucket.answer($0) }
    let found = try await walk(network, into: ledger(scratch))
    let lost = Set(names).subtracting(found).sorted()
    #expect(lost == [] && found.count == names.count, "lost: \(lost)")
    let looked = network.asked.map(ListedBucket.query).contains {
      $0["prefix"] == "p/" && $0["delimiter"] != nil
    }
    #expect(looked == isDivided)
  }

  private func folder(_ name: String, _ numbers: Range<Int>) -> [String] {
    numbers.map { "p/\(name)/\($0)" }
  }

  @Test func inTheOrderOfBytes() async throws {
    try await check(folder("a", 0..<4) + folder("b", 0..<9) + folder("c", 0..<9) + ["p/d"], isDivided: true)
  }

  /// `rclone serve s3` lists by time: the folders were written in turns.
  @Test func byTime() async throws {
    let turns = (0..<6).flatMap { number in ["c", "d", "e", "f"].map { "p/\($0)/\(number)" } }
    try await check(turns, isDivided: false)
  }

  /// All came in the order of their names, but for one that was stored last.
  @Test func byTimeWithOneThatCameLate() async throws {
    try await check(
      folder("a", 0..<4) + folder("b", 0..<4) + folder("c", 0..<4) + ["p/a/late"], isDivided: true)
  }

  /// By UTF-16 an emoji, of two surrogates, is before what has U+FF01; by bytes it is behind.
  @Test func byUTF16() async throws {
    try await check(folder("😀", 0..<9) + folder("！", 0..<3), isDivided: true)
  }

  // MARK: Answers that are none

  /// Lists a store that answers one request wrongly: `request` of all, counted from 1.
  private func walk(
    _ endpoint: Endpoint, answering wrong: (status: Int, body: String), to request: Int,
    right: @escaping @Sendable (WebURL) -> (status: Int, body: String)
  ) async throws -> [String] {
    let (scratch, count) = (try Scratch(), Locked(0))
    let network = ScriptedNetwork { url in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      return number == request ? wrong : right(url)
    }
    return try await walk(network, endpoint, into: ledger(scratch), attempts: 2)
  }

  /// A proxy's page in the middle of a listing passes. At its beginning the URL is a wrong one, most likely.
  @Test(arguments: [
    "<html>later</html>", "", "<ListBucketResult><IsTruncated>fal",
    "<ListBucketResult><Name>b</Name></ListBucketResult>",
  ])
  func aPageThatIsNone(_ body: String) async throws {
    let bucket = ListedBucket(names: (0..<6).map { "p/\($0)" })
    let found = try await walk(Self.bucket, answering: (200, body), to: 2) { bucket.answer($0) }
    #expect(found == bucket.names)
    guard !body.contains("<Name>") else { return }
    let failure = await #expect(throws: Failure.self) {
      try await walk(Self.bucket, answering: (200, body), to: 1) { bucket.answer($0) }
    }
    #expect(failure?.code == .protocolViolation)
    #expect(failure?.message.contains("\(body.utf8.count) bytes of no type") == true)
  }

  @Test(arguments: [(207, ""), (207, "<D:multistatus xmlns:D=\"DAV:\"><D:resp"), (200, "<html>later</html>")])
  func aFolderThatIsNone(_ status: Int, _ body: String) async throws {
    let folder = Endpoint(name: "d", driver: WebDAVDriver(), url: "http://h")
    let found = try await walk(folder, answering: (status, body), to: 2) { url in
      let isBelow = url.path.hasPrefix("/p/a/")
      let items =
        isBelow
        ? [Self.item("a/", "<D:collection/>"), Self.item("a/f")]
        : [Self.item("", "<D:collection/>"), Self.item("a/", "<D:collection/>")]
      return (207, "<D:multistatus xmlns:D=\"DAV:\">\(items.joined())</D:multistatus>")
    }
    #expect(found == ["p/a/f"])
  }

  // MARK: Going on

  /// A bucket that answers so many requests, and then no more until `answers` says so.
  private func cut(_ names: [String], _ answers: Locked<Int>) -> ScriptedNetwork {
    let bucket = ListedBucket(names: names)
    return ScriptedNetwork { url in
      let isThere = answers.withLock { left in
        left -= 1
        return left >= 0
      }
      return isThere ? bucket.answer(url) : nil
    }
  }

  @Test func aListingGoesOn() async throws {
    let (names, scratch, answers) = ((0..<8).map { "p/\($0)" }, try Scratch(), Locked(2))
    let (ledger, network) = (try ledger(scratch), cut(names, answers))
    await #expect(throws: Failure.self) { try await walk(network, into: ledger) }
    answers.withLock { $0 = .max }
    #expect(try await walk(network, into: ledger) == names)
    // Two pages, the one that nobody answered, and what is behind the two.
    let asked = network.asked.map(ListedBucket.query)
    #expect(asked.count == 5 && asked[3]["start-after"] == "p/3")
  }

  /// What a killed listing went on from says nothing of names that the store tells out of order.
  @Test func oneThatIsOutOfOrderBeginsAnew() async throws {
    let names = ["p/a", "p/b", "p/c", "p/d", "p/y", "p/x", "p/0", "p/z"]
    let (scratch, answers) = (try Scratch(), Locked(2))
    let (ledger, network) = (try ledger(scratch), cut(names, answers))
    await #expect(throws: Failure.self) { try await walk(network, into: ledger) }
    #expect(try ledger.listing("k", of: "p/", now: now).parts.map(\.position) == ["p/d"])
    answers.withLock { $0 = .max }
    let found = try await walk(network, into: ledger)
    #expect(Set(found) == Set(names), "\(found)")
    #expect(network.asked.map(ListedBucket.query).count { $0["start-after"] != nil } == 1)
  }

  /// A store that ignores the mark gives its first page for ever.
  @Test(.timeLimit(.minutes(10))) func aMarkThatComesAgain() async throws {
    let scratch = try Scratch()
    let page =
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents><Key>p/a</Key></Contents></ListBucketResult>"
    let network = ScriptedNetwork { _ in (200, page) }
    let ledger = try ledger(scratch)
    let failure = await #expect(throws: Failure.self) { try await walk(network, into: ledger) }
    #expect(failure?.code == .protocolViolation && network.asked.count == 2)
  }

  /// Nor is one waited for that gives ever new marks, and nothing behind them.
  @Test(
    .timeLimit(.minutes(2)),
    arguments: ["", "<Contents><Key>p/a</Key></Contents>", "<Contents><Key>p/#</Key></Contents>"])
  func marksWithoutNames(_ contents: String) async throws {
    let (scratch, count) = (try Scratch(), Locked(0))
    let network = ScriptedNetwork { _ in
      let mark = count.withLock {
        $0 += 1
        return $0
      }
      // One page after the other, in a circle.
      let names = contents.replacingOccurrences(of: "#", with: "\(mark % 3)")
      return (
        200,
        "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>\(mark)</NextContinuationToken>\(names)</ListBucketResult>"
      )
    }
    let failure = await #expect(throws: Failure.self) { try await walk(network, into: try ledger(scratch)) }
    #expect(failure?.code == .protocolViolation && failure?.message.contains("nothing new") == true)
  }

  private static func item(_ path: String, _ type: String = "") -> String {
    "<D:response><D:href>/p/\(path)</D:href><D:propstat><D:prop><D:resourcetype>\(type)</D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
  }

  /// A mark that leads to a folder that has gone is not asked for for ever: the next compile lists anew.
  @Test(arguments: [404, 207]) func aFolderThatHasGone(_ status: Int) async throws {
    let (scratch, folders) = (try Scratch(), Locked(["a", "b"]))
    let ledger = try ledger(scratch)
    let network = ScriptedNetwork { url in
      let names = folders.withLock { $0 }
      let below = url.path.split(separator: "/").dropFirst()
      let collection = "<D:collection/>"
      var items = [Self.item(below.map { $0 + "/" }.joined(), collection)]
      if let folder = below.first {
        // `b` is named, and then it is not there, or a file.
        items.append(Self.item("\(folder)/f"))
        if folder == "b" {
          folders.withLock { $0 = ["a"] }
          if status == 404 { return (404, "") }
          items = [Self.item("b")]
        }
      } else {
        items += names.map { Self.item($0 + "/", collection) }
      }
      return (207, "<D:multistatus xmlns:D=\"DAV:\">\(items.joined())</D:multistatus>")
    }
    let folder = Endpoint(name: "d", driver: WebDAVDriver(), url: "http://h")
    await #expect(throws: Failure.self) { try await walk(network, folder, into: ledger) }
    #expect(try await walk(network, folder, into: ledger) == ["p/a/f"])
    #expect(network.asked.map(\.path) == ["/p/", "/p/a/", "/p/b/", "/p/", "/p/a/"])
  }
}
