import Testing

@testable import Transfers

/// What ETags are taken to mean, answer after answer.
struct ETagMeaningsTests {
  private typealias Finding = ETagMeanings.Finding

  /// `=` an ETag that is the MD5, `x` another one; in upper case where the MD5 went along with the body.
  @Test(arguments: [
    ("=", "m"), ("==x", "mmd"), ("=xX", "mdd"),
    // Damaged once, at the first body: sent again with its MD5.
    ("x=", "dm"), ("x~", "dm"), ("x=x", "dmd"),
    // Two at a time, the second of them damaged as well.
    ("xx=", "ddm"),
    // ETags of another kind: found out by the one that went with its MD5, and then they tell nothing.
    ("xX", "dn"), ("xXx", "dnn"), ("X", "n"), ("xxXx", "ddnn"),
  ])
  func findings(_ responses: String, _ wanted: String) {
    let meanings = ETagMeanings()
    let found = responses.map { response -> String in
      switch meanings.judge(
        "s", matches: response == "=" || response == "~", wentAlong: response == "X" || response == "~")
      {
      case .match: "m"
      case .damaged: "d"
      case .nothing: "n"
      }
    }
    #expect(found.joined() == wanted)
    #expect(meanings["t"] == nil)
  }

  @Test func whenTheMD5HasToGoAlong() {
    let meanings = ETagMeanings()
    #expect(meanings["s"] == nil)
    _ = meanings.judge("s", matches: false, wentAlong: false)
    #expect(meanings["s"] == .doubted)
    _ = meanings.judge("s", matches: false, wentAlong: true)
    #expect(meanings["s"] == .other)
    _ = meanings.judge("s", matches: true, wentAlong: true)
    #expect(meanings["s"] == .md5)
  }
}
