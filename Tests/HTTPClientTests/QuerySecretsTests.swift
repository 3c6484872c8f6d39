import JobModel
import Testing

@testable import HTTPClient

/// The values of queries that servers may echo.
struct QuerySecretsTests {
  @Test func valuesAreMasked() {
    let secrets = QuerySecrets()
    #expect(secrets.all.isEmpty && secrets.credentials.isEmpty)
    secrets.learn(nil)
    secrets.learn("sig=a%2Bcdefgh&name=some+file&n=short&T0KENT0KEN&type=image/jpeg")
    let text = "a+cdefgh a%2bcdefgh some file some+file short T0KENT0KEN image/jpeg"
    #expect(secrets.all.masked(text) == "*** *** *** *** short *** image/jpeg")
    #expect(secrets.credentials.masked(text) == "*** *** some file some+file short T0KENT0KEN image/jpeg")
  }

  /// Each chunk may be redirected to a new URL: the last ones are known, and those that are asked again.
  @Test func theLastOnesAreKept() {
    let secrets = QuerySecrets()
    for number in 1000..<1100 {
      secrets.learn("own=of-the-transfer")
      secrets.learn("sig=signature\(number)")
    }
    #expect(secrets.all.masked("of-the-transfer signature1099 signature1000") == "*** *** signature1000")
  }
}
