import Endpoints
import JobModel
import Testing

@testable import HTTPClient

/// A URL whose signature may end, and the one that takes its place.
struct SignedURLTests {
  @Test(arguments: [
    ("http://h/a?sig=1", true), ("http://h/a", false), ("web:a?sig=1", false), ("a.bin", false),
  ])
  func onlyAURLWithAQueryMayBeSigned(_ place: String, _ may: Bool) {
    #expect((SignedURL(Place(place)) { nil } != nil) == may)
  }

  @Test(arguments: [
    ("http://h/a?sig=2" as String?, true), ("http://h/a?sig=1", false), ("web:a", false), (nil, false),
  ])
  func onlyAnotherURLIsNews(_ found: String?, _ isNew: Bool) async throws {
    let signed = try #require(SignedURL(Place("http://h/a?sig=1")) { found.map { Place($0) } })
    let (planned, other) = (
      try #require(WebURL("http://h/a?sig=1")), try #require(WebURL("http://h/b?sig=1"))
    )
    #expect(signed.replacing(planned) == planned)
    #expect(try await signed.renew() == isNew)
    #expect(signed.replacing(planned).text == (isNew ? found : planned.text))
    #expect(signed.replacing(other) == other, "protocols know the planned one alone")
    #expect(try await signed.renew() == false)
  }
}
