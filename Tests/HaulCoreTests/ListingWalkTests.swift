import Endpoints
import Foundation
import HTTPClient
import JobLedger
import JobModel
import SFTPClient
import TestSupport
import Testing

@testable import HaulCore

/// A long listing is complete in whichever order the store tells its names.
struct ListingWalkTests {
  private var now: Double { Date().timeIntervalSince1970 }

  /// Lists everything below `p/` into a ledger, as one compile does.
  private func walk(_ store: ListedStore, into ledger: JobLedger) async throws -> [String] {
    let context = ClientContext(
      transport: store, clock: EngineClock(now: { 1_700_000_000 }, random: { 0.5 }),
      secrets: SecretSource { _ in Secret("token") }, mask: SecretMask(),
      sftp: SFTPClient(SSHSurroundings(home: nil, agentSocket: nil)))
    var bucket = S3Settings()
    (bucket.bucket, bucket.addressing) = ("b", .path)
    var settings = TransferSettings(direction: .download)
    settings.policy.retryAttempts = 1
    let (number, parts) = try ledger.listing("k", of: "p/", now: now)
    let walk = ListingWalk(
      ledger: ledger, listing: RemoteListing(context),
      endpoint: Endpoint(name: "s", driver: S3Driver(bucket), url: "http://h"), prefix: "p/",
      settings: settings, number: number)
    try await walk.run(parts)
    return try ledger.listed(number, after: nil, most: 1000).map { "p/" + $0.path }
  }

  private func check(_ names: [String], isDivided: Bool) async throws {
    let (scratch, store) = (try Scratch(), ListedStore(names))
    let found = try await walk(store, into: JobLedger(folder: scratch.path, mayMigrate: true))
    let lost = Set(names).subtracting(found).sorted()
    #expect(lost == [] && found.count == names.count, "lost: \(lost)")
    let looked = store.queries.contains { $0["prefix"] == "p/" && $0["delimiter"] != nil }
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

  /// What a killed listing went on from says nothing of names that the store tells out of order.
  @Test func aListingThatWentOnBeginsAnew() async throws {
    let names = ["p/a", "p/b", "p/c", "p/d", "p/y", "p/x", "p/0", "p/z"]
    let (scratch, store) = (try Scratch(), ListedStore(names, answers: 2))
    let ledger = try JobLedger(folder: scratch.path, mayMigrate: true)
    await #expect(throws: Failure.self) { try await walk(store, into: ledger) }
    #expect(try ledger.listing("k", of: "p/", now: now).parts.map(\.position) == ["p/d"])
    store.answers.withLock { $0 = .max }
    let found = try await walk(store, into: ledger)
    #expect(Set(found) == Set(names), "\(found)")
    #expect(store.queries.count { $0["start-after"] != nil } == 1)
  }

  /// One that goes on in order is not asked for what it has told.
  @Test func aListingGoesOn() async throws {
    let names = (0..<8).map { "p/\($0)" }
    let (scratch, store) = (try Scratch(), ListedStore(names, answers: 2))
    let ledger = try JobLedger(folder: scratch.path, mayMigrate: true)
    await #expect(throws: Failure.self) { try await walk(store, into: ledger) }
    store.answers.withLock { $0 = .max }
    #expect(try await walk(store, into: ledger) == names)
    #expect(store.queries.count == 4 && store.queries[2]["start-after"] == "p/3")
  }
}
