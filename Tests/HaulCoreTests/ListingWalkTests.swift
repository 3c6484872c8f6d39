import JobLedger
import Testing

@testable import HaulCore

/// Which parts take the place of a long listing.
struct ListingWalkTests {
  @Test func whatIsToldIsLeftOut() {
    let parts = ListingWalk.parts(["p/a/", "p/b/", "p/c/", "p/ä/"], behind: "p/b/7")
    #expect(
      parts == [
        ListingPart(prefix: "p/b/", position: "p/b/7"), ListingPart(prefix: "p/c/"),
        ListingPart(prefix: "p/ä/"),
      ])
    #expect(ListingWalk.parts(["p/a/"], behind: "p/b") == [])
    #expect(ListingWalk.parts(["p/b/"], behind: "p/a") == [ListingPart(prefix: "p/b/")])
  }
}
