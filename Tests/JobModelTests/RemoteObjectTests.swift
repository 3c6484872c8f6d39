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
}
