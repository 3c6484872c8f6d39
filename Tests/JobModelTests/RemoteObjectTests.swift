import JobModel
import Testing

/// Whether two answers speak of one version of an object.
struct RemoteObjectTests {
  @Test(arguments: [
    ("\"1\"", "\"1\"", true), ("\"1\"", "W/\"1\"", true), ("1", "\"1\"", true), ("1", "1", true),
    ("\"1\"", "\"2\"", false), ("1", "\"2\"", false), ("\"", "\"\"", false), ("\"1\"", "\"1", false),
  ]) func tags(_ one: String, _ other: String, _ isSame: Bool) {
    var (first, second) = (RemoteObject(), RemoteObject())
    (first.etag, second.etag) = (one, other)
    #expect(first.isSameVersion(as: second) == isSame && second.isSameVersion(as: first) == isSame)
    #expect(first.hasMark(of: second) == isSame)
  }

  /// Not every server gives other bytes another tag, or another time.
  @Test(arguments: [true, false]) func digests(_ hasTags: Bool) {
    var (first, second) = (RemoteObject(), RemoteObject())
    if hasTags { (first.etag, second.etag) = ("\"1\"", "\"1\"") }
    (first.lastModified, second.lastModified) = (
      "Wed, 21 Oct 2026 07:28:00 GMT", "Wed, 21 Oct 2026 07:28:00 GMT"
    )
    (first.digests, second.digests) = ([.sha256: "00", .md5: "11"], [.md5: "11"])
    #expect(first.isSameVersion(as: second) && second.isSameVersion(as: first))
    second.digests[.sha256] = "01"
    #expect(!first.isSameVersion(as: second) && !second.isSameVersion(as: first))
  }
}
