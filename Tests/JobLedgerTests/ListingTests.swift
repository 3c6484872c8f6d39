import JobModel
import SQLite
import Testing

@testable import JobLedger

/// Listings on record: they go on after a kill, and are forgotten with the plan that is made of them.
struct ListingTests {
  @Test func aListingGoesOn() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let (number, parts) = try ledger.listing("k", of: "p/", now: 1000)
    #expect(parts == [ListingPart(prefix: "p/")])
    let names = ["b", "a\u{0}c", "ä", "a"].map {
      ListedName(path: $0, size: $0 == "b" ? nil : 3, modified: $0 == "b" ? nil : 5)
    }
    var part = ListingPart(prefix: "p/", position: "p/ä", isDone: true)
    try ledger.record(names, in: number, part, more: [ListingPart(prefix: "p/x/")], now: 1010)
    // The same page once more changes nothing.
    try ledger.record(names, in: number, part, now: 1011)
    let again = try folder.ledger().listing("k", of: "p/", now: 2000)
    #expect(again.number == number && Set(again.parts) == [part, ListingPart(prefix: "p/x/")])
    #expect(try ledger.listed(number, after: nil, most: 3).map(\.path) == ["a", "a\u{0}c", "b"])
    #expect(try ledger.listed(number, after: "b", most: 3) == [ListedName(path: "ä", size: 3, modified: 5)])
    let link = ListedName(path: "ö", size: nil, nonFile: .link)
    try ledger.record([link], in: number, part, now: 1011)
    #expect(try ledger.listed(number, after: "ä", most: 3) == [link])
    // Another one is another, and one of yesterday is none.
    #expect(try ledger.listing("other", of: "p/", now: 2000).number != number)
    // That another prefix takes long leaves it as it is.
    _ = try ledger.listing("other", of: "p/", now: 1011 + 7 * 3600)
    #expect(try ledger.listingNumber("k") == number)
    part = ListingPart(prefix: "p/")
    #expect(try ledger.listing("k", of: "p/", now: 1011 + 7 * 3600).parts == [part])
  }

  /// Pages far behind cost as much as the first one; the prefix's own mark has an empty path.
  @Test func namesAreReadFromWhereTheyBegin() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let number = try ledger.listing("k", of: "p/", now: 1000).number
    let names = ["b", "", "a"].map { ListedName(path: $0, size: 1) }
    try ledger.record(names, in: number, ListingPart(prefix: "p/", isDone: true), now: 1000)
    #expect(try ledger.listed(number, after: nil, most: 2).map(\.path) == ["", "a"])
    #expect(try ledger.listed(number, after: "", most: 2).map(\.path) == ["a", "b"])
    for isFirst in [true, false] {
      let plan = try ledger.read { db in
        try Row.fetchAll(
          db, sql: "EXPLAIN QUERY PLAN " + JobLedger.namesQuery(isFirst: isFirst),
          arguments: [number, [UInt8](), 2]
        ).map { $0[3] as String }
      }
      #expect(plan.count == 1 && plan[0].contains("(listing=? AND path>?)"), "\(plan)")
    }
  }

  @Test func oneIsForgottenByItself() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let number = try ledger.listing("k", of: "p/", now: 1000).number
    let other = try ledger.listing("other", of: "p/", now: 1000).number
    for one in [number, other] {
      try ledger.record(
        [ListedName(path: "a", size: 1)], in: one, ListingPart(prefix: "p/", position: "m"), now: 1000)
    }
    try ledger.forgetListing(number)
    #expect(try ledger.hasListed())
    #expect(try ledger.listingNumber("k") == nil && ledger.listed(number, after: nil, most: 9) == [])
    #expect(try ledger.listing("other", of: "p/", now: 1000).parts.map(\.position) == ["m"])
    #expect(try ledger.listed(other, after: nil, most: 9).map(\.path) == ["a"])
    try ledger.forgetListings()
    #expect(try !ledger.hasListed())
  }

  @Test func aPlanForgetsIt() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let (number, part) = (try ledger.listing("k", of: "p/", now: 1000).number, ListingPart(prefix: "p/"))
    try ledger.record([ListedName(path: "a", size: 1)], in: number, part, now: 1000)
    struct Broken: Error {}
    #expect(throws: Broken.self) { try ledger.compile(batches: { _ in throw Broken() }) }
    #expect(try ledger.listingNumber("k") == number)
    _ = try ledger.compile(batches: { _ in })
    #expect(try ledger.listingNumber("k") == nil && ledger.listed(number, after: nil, most: 9) == [])
  }
}
