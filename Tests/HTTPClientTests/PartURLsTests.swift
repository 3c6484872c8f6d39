import Endpoints
import JobModel
import Testing

@testable import HTTPClient

/// Which part URLs are asked for, and which refusals mean that they have expired.
struct PartURLsTests {
  private let session = RemoteSession(id: "u", chunkSize: 10)
  private let denied = Failure(.forbidden, "denied", httpStatus: 403)

  /// All of these chunks have their URL.
  private func known(_ chunks: ClosedRange<Int>) throws -> PartURLs {
    var urls = PartURLs()
    for chunk in chunks { urls.begin(chunk, in: session) }
    urls.add(
      try Dictionary(uniqueKeysWithValues: chunks.map { ($0, try #require(WebURL("http://s/\($0)"))) }))
    return urls
  }

  @Test func whatIsAskedFor() throws {
    let urls = try known(0...1)
    #expect(urls.missing(2, [0, 1, 3, 4, 5], most: 3) == [2, 3, 4], "known ones are not asked for again")
    #expect(urls.missing(2, [3, 4], most: 1) == [2])
    #expect(urls.missing(2, [2, 2], most: 9) == [2])
  }

  @Test func aTakenChunkNeedsNoneAnyMore() throws {
    var urls = try known(0...1)
    let first = urls.take(0)
    urls.accepted(0)
    let (gone, second) = (urls.take(0), urls.take(1))
    #expect(first != nil && gone == nil && second != nil)
  }

  @Test func anotherSessionHasOthers() throws {
    for (other, knows) in [
      (session, true), (RemoteSession(id: "v", chunkSize: 10), false),
      (RemoteSession(id: "u", chunkSize: 10, facts: ["key": "k"]), false),
    ] {
      var urls = try known(0...0)
      urls.begin(0, in: other)
      let url = urls.take(0)
      #expect((url != nil) == knows)
    }
  }

  /// One try of chunk 0 that fails so: whether another URL is to be asked for.
  private func fails(
    _ failure: Failure, _ urls: inout PartURLs, attempts: Int = 0
  ) throws -> Bool {
    urls.begin(0, in: session)
    if urls.take(0) == nil { urls.add([0: try #require(WebURL("http://s/0"))]) }
    _ = urls.take(0)
    return urls.refused(0, failure, attempts: attempts)
  }

  @Test func refusalsAreForgivenTwice() throws {
    var urls = try known(0...1)
    for expected in [true, true, false, true, true, false] {
      let mends = try fails(denied, &urls)
      #expect(mends == expected)
    }
    let other = urls.take(1)
    #expect(other == nil, "what was handed out together expires together")
  }

  @Test func otherFailuresCountAnew() throws {
    for failure in [Failure(.serverError, "busy", httpStatus: 503), Failure(.timeout, "slow")] {
      var urls = try known(0...0)
      for (one, expected) in [
        (denied, true), (failure, false), (denied, true), (denied, true), (denied, false),
      ] {
        let mends = try fails(one, &urls)
        #expect(mends == expected)
      }
    }
  }

  @Test func aServerThatTakesOthersMeansTheURL() throws {
    var urls = try known(0...20)
    var granted = 0
    for other in 1...20 {
      guard try fails(denied, &urls, attempts: 3) else { break }
      granted += 1
      urls.accepted(other)
    }
    // The first one, as many as a request has tries, and the second one.
    #expect(granted == 5)
  }

  @Test func whoSentNothingIsNotJudged() {
    var urls = PartURLs()
    let unknown = urls.refused(3, denied, attempts: 9)
    urls.begin(3, in: session)
    let unsent = urls.refused(3, denied, attempts: 9)
    #expect(!unknown && !unsent)
  }
}
